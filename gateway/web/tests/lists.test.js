import { due, feed, take } from '../state/feed.js';
import { batchFilter, chips, filterOf, isLabel, narrows, optionsOf, paramsOf } from '../state/jobfilter.js';
import { inOrder, readFamily } from '../pages/job/family.js';
import { equal, ok, test } from './assert.js';

const NOW = Date.parse('2026-03-02T09:00:30Z');
const of = (/** @type {string} */ text) => filterOf(new URLSearchParams(text));

test('a filter is the same for the list, a batch and the command line', () => {
  const filter = of('show=waiting&q= report &label=team=billing&label=env=a=b&agent=careful&since=24h');
  const since = '2026-03-01T09:00:00.000Z';
  equal(paramsOf(filter, NOW), { state: ['input-required', 'auth-required'], attention: undefined, q: 'report', label: ['team=billing', 'env=a=b'], agent: 'careful', conversation: '', parent: '', since });
  equal(batchFilter(filter, NOW), { states: ['input-required', 'auth-required'], text: 'report', labels: { team: 'billing', env: 'a=b' }, agent: 'careful', since });
  equal(optionsOf(filter, NOW).join(' '), `--state input-required --state auth-required --text report --label team=billing --label env=a=b --agent careful --since ${since}`);
  equal(chips(filter).map(([name]) => name), ['agent', 'label', 'label', 'since']);
  ok(narrows(filter));
});

test('jobs that need attention are one condition for the list, a batch and the command line', () => {
  const filter = of('show=attention');
  equal([paramsOf(filter, NOW).attention, paramsOf(filter, NOW).state], [1, []]);
  equal(batchFilter(filter, NOW), { attention: true });
  equal(optionsOf(filter, NOW), ['--attention']);
});

test('no filter is all jobs, and what an address makes up is no filter', () => {
  const none = of('show=what&since=2y&label=nothing&at=7');
  ok(!narrows(none));
  equal(batchFilter(none, NOW), {});
  equal(optionsOf(none, NOW), ['--all']);
  for (const label of ['a=b', 'team/x.y-z_1=two words', 'a=']) ok(isLabel(label), label);
  for (const label of ['', '=b', 'Team=x', 'a b=c']) ok(!isLabel(label), label);
});

test('a list is read again when the feed says so, and in intervals without a feed', () => {
  feed.live = false;
  ok(due(0, 2500, 2501) && !due(0, 2500, 2500));
  feed.live = true;
  feed.changed = 5000;
  ok(!due(5001, 2500, 30_000), 'nothing changed since');
  ok(due(4000, 2500, 5100) && !due(4500, 2500, 5100), 'at most once a second');
  ok(due(5001, 2500, 70_000), 'a lost frame costs a minute');
  feed.changed = 0;
  take({ event: 'pulse', data: { jobs: [], more: false, open: { working: 2 }, complete: true } });
  equal([feed.changed, feed.open], [0, { working: 2 }]);
  take({ event: 'pulse', data: { jobs: ['j1'], more: false, open: { working: 3 }, complete: false } });
  ok(feed.changed > 0 && feed.open === undefined, 'figures that lack a shard are none');
  feed.live = false;
});

/** @type {Record<string, any>} */
const VIEWS = {
  a: { job: 'a', state: 'working', goal: 'A', plan: { steps: [{ state: 'completed' }, { state: 'running' }] } },
  b: { job: 'b', state: 'working', goal: 'B', parent: { job: 'a' } },
  lost: { job: 'lost', state: 'completed', goal: 'L', parent: { job: 'purged' } },
};
/** @type {Record<string, any[]>} */
const CHILDREN = { a: [{ job: 'c', parent: 'a', goal: 'C' }, { job: 'b', parent: 'a', goal: 'B' }], b: [{ job: 'd', parent: 'b', goal: 'D' }] };
const from = {
  job: (/** @type {string} */ id) => (VIEWS[id] ? Promise.resolve(VIEWS[id]) : Promise.reject({ code: 'not_found' })),
  jobs: async (/** @type {any} */ query) => ({ jobs: CHILDREN[query.parent] ?? [], more: false }),
};

const family = await readFamily(VIEWS.b, from);
const lost = await readFamily(VIEWS.lost, from);
test('a family is read from its first job, the oldest children first', () => {
  equal(family.jobs.map((job) => `${job.depth}${job.job}`), ['0a', '1b', '1c', '2d']);
  equal(inOrder(family.jobs).map((job) => job.job), ['a', 'b', 'd', 'c']);
  equal([family.jobs[0].steps_done, family.jobs[0].steps], [1, 2]);
});
test('a family whose first job was removed begins with the oldest that is left', () => {
  equal(lost.jobs.map((job) => job.job), ['lost']);
});
