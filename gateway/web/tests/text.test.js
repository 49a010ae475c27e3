import { frames } from '../api.js';
import { clock, duration, exact, number, shell, visible } from '../format.js';
import { Exact, numberOf, parse } from '../exact.js';
import { compact, elements, indent, rawAt } from '../rawjson.js';
import { read } from '../parts/schemaform.js';
import { diff } from '../parts/diff.js';
import { answered, challenge } from '../state/login.js';
import { settings } from '../settings.js';
import en from '../words/en.js';
import jobEn from '../words/job.en.js';
import jobZh from '../words/job.zh.js';
import zh from '../words/zh.js';
import { equal, ok, test } from './assert.js';

test('frames of server-sent events come whole, however they are cut', () => {
  const text = ': keep-alive\n\nid: 1.1\nevent: event\ndata: {"a":1}\n\nevent: end\ndata: {}\n\n';
  const split = frames();
  const out = [...text].flatMap((c) => split(c));
  equal(out, [{ event: 'event', data: '{"a":1}', id: '1.1' }, { event: 'end', data: '{}' }]);
});

test('times and numbers are written in the language, and what is no time as it is', () => {
  const { language } = settings;
  const time = +new Date(2026, 2, 1, 15, 4, 5);
  const written = ['en', 'zh', 'en'].map((one) => {
    settings.language = one;
    return [clock(time), exact(time), number(12345)];
  });
  settings.language = language;
  equal(written[0], ['15:04:05', '1 Mar 2026, 15:04:05', '12,345']);
  equal(written[1], ['15:04:05', '2026年3月1日 15:04:05', '12,345']);
  equal(written[2], written[0]);
  equal([clock(NaN), exact('later')], ['NaN', 'later']);
});

test('a value is found in JSON with its digits', () => {
  const text = '{"questions":[{"id":"q0"},{"id":"q1","args": {"n": 12345678901234567890, "s":"a\\"]}"}}]}';
  const raw = rawAt(text, ['questions', 1, 'args']) ?? '';
  equal(compact(raw), '{"n":12345678901234567890,"s":"a\\"]}"}');
  ok(indent(raw).includes('"n": 12345678901234567890'));
  equal(rawAt(text, ['questions', 7]), undefined);
  equal(indent('{"a":[],"b":{}}'), '{\n  "a": [],\n  "b": {}\n}');
});

test('elements of an array keep their digits', () => {
  const text = '{"records":[ {"n":12345678901234567890} , {"s":"],"},[] ],"more":true}';
  equal(elements(text, ['records']), ['{"n":12345678901234567890}', '{"s":"],"}', '[]']);
  equal(elements('{"records":[]}', ['records']), []);
  equal(elements('{}', ['records']), []);
});

test('a number that a double cannot hold keeps its digits, and others are numbers', () => {
  const text = '{"big":12345678901234567890,"wide":0.1234567890123456789,"huge":1e400,"list":[9007199254740993]}';
  equal(JSON.stringify(parse(text)), text);
  const { big } = parse(text);
  ok(big instanceof Exact && String(big) === '12345678901234567890' && Number(big) > 1e19);
  const same = '{"a":1.0,"b":1e3,"c":9007199254740992,"d":-0.5,"e":0.30000000000000004,"f":1000000000000000000000,"t":"09:00:00.123456789012345678Z"}';
  equal(Object.values(parse(same)).slice(0, 6), [1, 1000, 9007199254740992, -0.5, 0.30000000000000004, 1e21]);
  equal(JSON.stringify(parse('{"a":1.0,"b":[1e3,-0]}', true)), '{"a":1.0,"b":[1e3,-0]}');
  equal(numberOf('12'), 12);
  ok(Number.isNaN(numberOf('abc')));
});

test('a form sends the number that was typed', () => {
  const fields = [{ key: 'n', label: 'n', type: 'number', integer: true }, { key: 'j', label: 'j', type: 'json' }, { key: 'e', label: 'e', type: 'either' }];
  const { value, mistakes } = read(fields, { n: '12345678901234567890', j: '[1.50]', e: '98765432109876543210' });
  equal(mistakes, {});
  equal(JSON.stringify(value), '{"n":12345678901234567890,"j":[1.50],"e":98765432109876543210}');
});

test('a sign-in counts only in the tab that began it', () => {
  const stored = JSON.stringify({ verifier: 'v', state: 's', to: '/inbox' });
  const query = (/** @type {string} */ text) => new URLSearchParams(text);
  equal(answered(query('code=c&state=s'), stored), { code: 'c', verifier: 'v', to: '/inbox' });
  equal(answered(query('code=c&state=other'), stored), undefined);
  equal(answered(query('code=c'), stored), undefined);
  equal(answered(query('code=c&state=s'), null), undefined);
  equal(answered(query('error=access_denied&state=s'), stored), { refused: 'access_denied', to: '/inbox' });
});

const published = await challenge('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk');
test('the challenge is that of RFC 7636, appendix B', () => {
  equal(published, 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
});

test('invisible characters show', () => {
  equal(visible('a\u202eb\u200b').map((part) => part.text).join(''), 'a\\u{202e}b\\u{200b}');
  equal(visible('plain').length, 1);
});

test('durations have at most two units', () => {
  equal(duration(999), '999 ms');
  equal(duration(90_000), '1 m 30 s');
  equal(duration((2 * 24 + 4) * 3_600_000 + 59_000), '2 d 4 h');
});

test('shell words are quoted', () => {
  equal(shell("it's"), `'it'\\''s'`);
  equal(shell('rel-1'), 'rel-1');
});

test('a diff has every line', () => {
  equal(diff('a\nb\nc', 'a\nx\nc').map((line) => line.kind[0] + line.text), ['sa', 'rb', 'ax', 'sc']);
});

test('both languages have the same words and arguments', () => {
  for (const [one, other] of [[en, zh], [jobEn, jobZh]]) equal(Object.keys(one), Object.keys(other));
  equal(Object.keys(jobEn).filter((key) => key in en), []);
  const names = (/** @type {string} */ text) => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();
  const words = /** @type {Record<string, string>} */ ({ ...en, ...jobEn });
  for (const key of Object.keys(words)) {
    const other = /** @type {Record<string, string>} */ ({ ...zh, ...jobZh })[key];
    ok(names(other).every((name) => names(words[key]).includes(name) || name === 'n'), `${key}: ${other}`);
  }
});
