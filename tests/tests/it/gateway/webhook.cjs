// The official library of Standard Webhooks checks an event that arrived, refuses it with one byte
// changed, and signs a delivery. Prints what it saw as one JSON object.
'use strict';

const { Webhook } = require('standardwebhooks');

const [secret, headers, body, id, seconds, delivery] = process.argv.slice(2);
const webhook = new Webhook(secret);
let refused = false;
try {
  webhook.verify(`${body} `, JSON.parse(headers));
} catch {
  refused = true;
}
console.log(JSON.stringify({
  verified: webhook.verify(body, JSON.parse(headers)),
  refused,
  signature: webhook.sign(id, new Date(Number(seconds) * 1000), delivery),
}));
