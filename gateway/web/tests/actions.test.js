import { commands } from '../parts/copyas.js';
import { Foresight } from '../parts/foresight.js';
import { bodyOf, emptyForm, isComplete, requestOf } from '../parts/orders.js';
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
