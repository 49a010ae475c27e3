import { linkRequest } from '../parts/answerlink.js';
import { commands } from '../parts/copyas.js';
import { Foresight } from '../parts/foresight.js';
import { bodyOf, emptyForm, isComplete, requestOf, takesReason } from '../parts/orders.js';
import { closeDialog, dialogView } from '../parts/dialog.js';
import { answerRequest, openReject, rejection } from '../parts/question.js';
import { submission } from '../pages/new.js';
import { parse } from '../exact.js';
import { render } from '../lit.js';
import { equal, ok, test } from './assert.js';

/** @param {import('../parts/orders.js').Kind} kind @param {Partial<import('../parts/orders.js').Form>} [form] @returns {import('../parts/orders.js').Order} */
const order = (kind, form = {}) => ({ kind, job: 'j1', step: kind === 'restart' ? 's2' : undefined, form: { ...emptyForm(), ...form } });
/** @param {import('../parts/orders.js').Order} of */
const written = (of) => commands(requestOf(of), 'http://host', false, 'cb');

test('an action is the same request for every client', () => {
  const back = order('roll_back', { to: '12', reason: 'old notes', again: true });
  equal(bodyOf(back), { signal: { roll_back: { to: 12, again: true } }, reason: 'old notes' });
  const ways = written(back);
  equal(ways.cli, "callboard jobs rollback j1 --to 12 --again --reason 'old notes'");
  equal(ways.nats, `nats req cb.svc.signal '{"job":"j1","signal":{"roll_back":{"to":12,"again":true}},"reason":"old notes"}'`);
  equal(ways.curl, `curl -X POST http://host/v1/jobs/j1/signals -H 'Content-Type: application/json' -d '{"signal":{"roll_back":{"to":12,"again":true}},"reason":"old notes"}'`);
  const fork = written(order('fork', { to: 'before', id: 'j2', again: true }));
  equal(fork.cli, 'callboard jobs fork j1 --at before --id j2 --again');
  equal(fork.nats, `nats req cb.svc.submit '{"id":"j2","fork":{"job":"j1","at":"before","again":true}}'`);
  equal(written(order('restart')).cli, 'callboard jobs restart j1 s2');
  equal(written(order('recover', { reason: 'fixed' })).cli, 'callboard jobs retry j1 --reason fixed');
  equal(bodyOf(order('cancel')), { signal: 'cancel' });
  ok(commands(requestOf(order('pause')), 'http://host', true, 'cb').nats.includes('Callboard-Token: $CALLBOARD_TOKEN'));
});

test('a request says its reason, its sender and its point, as the button sends them', () => {
  const steer = written({ ...order('steer', { text: 'be brief', reason: 'they are busy' }), by: 'ann' });
  equal(steer.cli, "USER=ann callboard jobs steer --reason 'they are busy' j1 'be brief'");
  equal(steer.nats, `nats req cb.svc.signal '{"job":"j1","signal":{"steer":{"text":"be brief"}},"reason":"they are busy","by":"ann"}'`);
  const named = order('snapshot', { name: 'then', to: '46', reason: 'the plan' });
  equal(bodyOf(named), { signal: { snapshot: { name: 'then', at: 46 } }, reason: 'the plan' });
  equal(written(named).cli, "callboard jobs snapshot --at 46 --reason 'the plan' j1 then");
  ok(takesReason('steer') && takesReason('snapshot') && !takesReason('fork'));
});

test('text that means something to a program stays text', () => {
  const text = `it's "here": {{.Count}} $HOME`;
  const of = written(order('steer', { text, reason: '-v' }));
  equal(of.cli, `callboard jobs steer --reason=-v j1 'it'\\''s "here": {{.Count}} $HOME'`);
  ok(!of.nats.includes('{{'), 'the command nats fills in what is in double braces');
  const sent = JSON.parse(of.nats.slice(of.nats.indexOf("'") + 1, -1).replaceAll(`'\\''`, "'"));
  equal(sent.signal, { steer: { text } });
  equal(written(order('steer', { text: '@notes' })).cli, 'callboard jobs steer j1 @@notes');
  equal(written(order('steer', { text: '--help' })).cli, 'callboard jobs steer -- j1 --help');
});

test('subjects have the prefix of the installation, and without it there is no command for NATS', () => {
  ok(commands(requestOf(order('pause')), 'http://host', false, 'staging').nats.startsWith('nats req staging.svc.signal '));
  equal(commands(requestOf(order('pause')), 'http://host', false, undefined).nats, '');
});

test('an answer is the same request for every client, an edited plan with its digits', () => {
  const edit = '{"steps":[{"id":"a","args":{"n":12345678901234567890,"x":1.0}}]}';
  const body = { decision: 'edit', value: parse(edit, true), digest: 'd' };
  const ways = commands(answerRequest('j1', { id: 'q1' }, body, 'ann', edit), 'http://host', false, 'cb');
  equal(ways.cli, `printf %s '${edit}' | USER=ann callboard inbox answer j1 q1 --plan -`);
  equal(ways.nats, `nats req cb.svc.answer '{"job":"j1","ask":"q1","decision":"edit","value":${edit},"digest":"d","by":"ann"}'`);
  const of = (/** @type {any} */ answer) => commands(answerRequest('j1', { id: 'q1' }, answer), 'http://host', false, 'cb').cli;
  equal(of({ decision: 'approve', digest: 'd' }), 'callboard inbox approve j1 q1 --digest d');
  equal(of({ decision: 'approve', digest: 'd', remember: 'job' }), 'callboard inbox approve j1 q1 --digest d --remember');
  equal(of({ decision: 'respond', text: '@home' }), 'callboard inbox answer j1 q1 --text @@home');
  equal(of({ value: parse('{"n":12345678901234567890}', true) }), `callboard inbox answer j1 q1 --value '{"n":12345678901234567890}'`);
});

test('a rejection is the same request for every client, and its reason is a text', () => {
  const check = { id: 'q1', kind: 'plan_check', digest: 'd' };
  equal(rejection(check, ' '), { decision: 'reject', digest: 'd' });
  equal(rejection({ kind: 'question' }, 'ask bob'), { decision: 'reject', text: 'ask bob' });
  const of = (/** @type {string} */ reason) => commands(answerRequest('j1', check, rejection(check, reason), 'ann'), 'http://host', false, 'cb');
  equal(of('').cli, 'USER=ann callboard inbox reject j1 q1');
  equal(of('@home').cli, 'USER=ann callboard inbox reject j1 q1 --text @@home');
  equal(of('-no').cli, 'USER=ann callboard inbox reject j1 q1 --text=-no');
  equal(of('too long').nats, `nats req cb.svc.answer '{"job":"j1","ask":"q1","decision":"reject","digest":"d","text":"too long","by":"ann"}'`);
});

test('a rejection says what follows before it is sent, with its own command', () => {
  const place = document.createElement('div');
  document.body.append(place);
  for (const [kind, sentence] of [['plan_check', 'say_reject_plan'], ['tool_approval', 'say_reject_call'], ['choice', 'say_decline']]) {
    openReject('j1', { id: kind, kind, tool: 'pay', digest: 'd' });
    render(dialogView(), place);
    // The words of the pages beside the list are not loaded here.
    equal(place.querySelector('.consequence')?.textContent, sentence);
    equal(place.querySelector('.copy-as pre')?.textContent, `callboard inbox reject j1 ${kind}`);
  }
  closeDialog();
  place.remove();
});

test('a new job is the same request for every client', () => {
  const body = { id: 'j1', goal: '@notes are long', agent: 'careful', conversation: '-talk', confirm: true, language: 'zh', deadline_ms: 3_600_000 };
  const ways = commands(submission(body, []), 'http://host', false, 'cb');
  equal(ways.cli, "callboard submit --id j1 --agent careful --confirm --language zh --deadline 60m --conversation=-talk '@@notes are long'");
  equal(ways.nats, `nats req cb.svc.submit '${JSON.stringify(body)}'`);
  const files = [{ name: 'notes 1.md' }, { name: '-b.md' }];
  const own = commands(submission({ id: 'j1', goal: '--help', confirm: false }, files), 'http://host', false, 'cb');
  equal(own, { cli: "callboard submit --id j1 --no-confirm --file 'notes 1.md' --file=-b.md -- --help", nats: '', curl: '' });
  equal(commands(submission({ id: 'j1', goal: 'go' }, []), 'http://host', false, 'cb').cli, 'callboard submit --id j1 go');
});

test('a request that lacks something is not sent', () => {
  ok(!isComplete(order('steer', { text: ' ' })) && isComplete(order('steer', { text: 'go on' })));
  ok(!isComplete(order('snapshot', { name: '12' })) && isComplete(order('snapshot', { name: 'v12' })));
  ok(!isComplete(order('roll_back')) && isComplete(order('fork')));
});

test('the server is asked once for each request, after the last change', () => {
  /** @type {[() => void, number][]} */
  const timers = [];
  /** @type {any[]} */
  const asked = [];
  const foresight = new Foresight((body) => { asked.push(body); return new Promise(() => {}); }, (run, ms) => timers.push([run, ms]));
  foresight.look({ to: 1 });
  foresight.look({ to: 1 });
  foresight.look({ to: 12 });
  equal(timers.map(([, ms]) => ms), [0, 200]);
  for (const [run] of timers) run();
  equal(asked, [{ to: 12 }]);
  ok(foresight.waits && foresight.refused === undefined);
  foresight.clear();
  ok(!foresight.waits);
});

test('a link is made by every client', () => {
  const { cli, nats, curl } = commands(linkRequest('j1', 'q1', '-Ann'), 'http://host', false, 'cb');
  equal(cli, 'callboard inbox link j1 q1 --by=-Ann');
  equal(nats, `nats req cb.svc.link '{"job":"j1","ask":"q1","by":"-Ann"}'`);
  equal(curl, `curl -X POST http://host/v1/jobs/j1/questions/q1/links -H 'Content-Type: application/json' -d '{"by":"-Ann"}'`);
  equal(linkRequest('j1', 'q1', '').body, {});
});
