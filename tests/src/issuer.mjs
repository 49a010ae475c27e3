// A real issuer of OpenID Connect for the tests: it asks nobody for a password, and signs in `ann`, a member of the
// group `writers`. The port is the first line that it prints.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// NODE_PATH has no effect on `import`.
const require = createRequire(`${process.env.NODE_PATH}/`);
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const [redirect] = process.argv.slice(2);
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{ client_id: 'callboard', client_secret: 'a-secret', redirect_uris: [redirect], token_endpoint_auth_method: 'client_secret_basic' }],
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['a test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: ['writers'] }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid groups');
      await grant.save();
      return grant;
    },
    pkce: { required: () => true },
    ttl: { IdToken: 600 },
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (request.url.startsWith('/interaction/')) provider.interactionFinished(request, response, { login: { accountId: 'ann' } });
    else answer(request, response);
  });
  console.log(port);
});
