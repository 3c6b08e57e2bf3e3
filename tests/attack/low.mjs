// SPDX-License-Identifier: Apache-2.0
// The small ones of the issue.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { Broker } from '../e2e/harness.mjs';

const run = promisify(execFile);

async function inDirectory(act) {
  const directory = await mkdtemp(join(tmpdir(), 'parley-attack-'));
  try {
    return await act(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function adminToken(g) {
  await inDirectory(async (directory) => {
    for (const name of ['admin.token', 'admin.token.new', 'broker.json', 'broker.json.new']) {
      const [data, victim] = [join(directory, `of-${name}`), join(directory, `victim-of-${name}`)];
      await run('mkdir', ['-m', '700', data]);
      await writeFile(victim, 'precious', { mode: 0o644 });
      await symlink(victim, join(data, name));
      const broker = await Broker.start({ data }).catch((error) => { g.note(`${name}: ${error.message.split('\n')[0].slice(0, 90)}`); });
      const text = await readFile(victim, 'utf8').catch(() => undefined);
      if (text !== 'precious') g.loses(`${name} is a link: the broker writes to its target, mode ${((await stat(victim)).mode & 0o777).toString(8)}`);
      if (broker) await broker.stop();
    }
  });
}

async function openDirectory(g) {
  await inDirectory(async (directory) => {
    for (const mode of [0o777, 0o770, 0o722]) {
      const data = join(directory, mode.toString(8));
      await run('mkdir', [data]);
      await chmod(data, mode);
      const broker = await Broker.start({ data }).catch((error) => { g.note(`${mode.toString(8)}: ${error.message.trim().split('\n')[0].slice(0, 90)}`); });
      if (!broker) continue;
      const now = (await stat(data)).mode & 0o777;
      if (now & 0o022) g.loses(`a data directory of mode ${mode.toString(8)} is used as it is`);
      await broker.stop();
    }
  });
}

async function tlsSuites(g) {
  await inDirectory(async (directory) => {
    const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost', '-keyout', key, '-out', certificate]);
    const broker = await Broker.start({ flags: ['--tls-certificate', certificate, '--tls-key', key] });
    const port = Number(new URL(broker.url).port);
    const tried = (options) => new Promise((done) => {
      const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => { done(`${socket.getProtocol()} ${socket.getCipher().name}`); socket.destroy(); });
      socket.on('error', () => done(undefined));
      socket.setTimeout(3_000, () => { done(undefined); socket.destroy(); });
    });
    try {
      for (const [what, ciphers] of [['static RSA', 'AES128-GCM-SHA256:AES256-GCM-SHA384'], ['static RSA and CBC', 'AES128-SHA:AES256-SHA:AES128-SHA256'],
        ['CBC', 'ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384'], ['DHE and CBC', 'DHE-RSA-AES128-SHA']]) {
        const got = await tried({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` });
        if (got) g.loses(`${what} is spoken: ${got}`);
      }
      const old = await tried({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' });
      if (old) g.loses(`old: ${old}`);
      const good = await tried({ maxVersion: 'TLSv1.2' });
      g.note(`as usual: ${await tried({})}; TLS 1.2: ${good}`);
    } finally {
      await broker.remove();
    }
  });
}

async function names(g) {
  await g.agent('ana');
  const taken = [];
  const tried = { PARLEY: 'PARLEY', Parley: 'Parley', system: 'system', SYSTEM: 'SYSTEM', System: 'System', admin: 'admin', 'human:': 'Human:mia', broadcast: 'BROADCAST', 'full width': 'ｐａｒｌｅｙ',
    'zero width space': 'an\u200ba', 'zero width joiner': 'ana\u200d', 'soft hyphen': 'a\u00adna', 'right to left': 'ana\u202e', 'word joiner': 'ana\u2060', 'byte order mark': '\ufeffana', tag: 'ana\u{e0061}',
    'variation selector': 'ana\ufe0f', 'hangul filler': 'ana\u3164', 'braille blank': 'ana\u2800', 'cyrillic a': '\u0430na', 'cyrillic p': '\u0440arley', 'no-break space': 'ana\u00a0x', combining: 'ana\u034f' };
  for (const [what, id] of Object.entries(tried)) {
    const { status } = await g.broker.call('POST', '/v1/agents', { body: { id, dialect: 'flow' } });
    if (status === 201) taken.push(what);
  }
  if (taken.length > 0) g.loses(`names that look like another's are registered: ${taken.join(', ')}`);
  const ana = await g.agent('bo');
  const odd = await ana.call('PUT', `/v1/topics/${encodeURIComponent('build.\u200bdone')}/subscription`);
  if (odd.status < 300) g.loses('a topic with an invisible character');
  const said = await ana.send('build.\u200bdone', 'x');
  if (said.status < 300) g.loses('a message on a topic with an invisible character');
}

// What is another's must look like what is not there. That the id of a session, chosen by who began it, is
// taken is said to whoever starts one of the same id, and docs/security.md says why: so nobody can guess the
// id that the broker gives, and a start says nothing else.
async function oracles(g) {
  const ana = await g.agent('ana', { dialect: 'collab', role: 'coordinator' });
  await g.agent('bo', { dialect: 'collab', role: 'worker' });
  const [cy, eve] = await g.agents('cy', 'eve', 'di');
  await ana.call('POST', '/v1/sessions', { body: { id: 'secret-session', participants: ['bo'], task: 'merge' } });
  const given = (await ana.call('POST', '/v1/sessions', { body: { participants: ['bo'], task: 'merge' } })).json.id;
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(given)) g.sees(`the id of a session can be guessed: ${given}`);
  const begun = await eve.call('POST', '/v1/sessions', { body: { id: 'secret-session', participants: ['eve'], task: 't' } });
  g.seesIn(begun.text, { coordinator: 'ana', participant: '"bo"', task: 'merge', state: 'active' }, 'starts a session of a taken id');
  const sent = await cy.send('di', 'x', { conversation_id: 'secret-thread', type: 'request' });
  await cy.send('di', 'x', { conversation_id: 'second-thread' });
  await cy.send('nobody', 'x');
  const pairs = [
    ['reads a session', (id) => eve.call('GET', `/v1/sessions/${id}`), 'secret-session', 'no-such-session-2'],
    ['reads a session with the id that the broker gave', (id) => eve.call('GET', `/v1/sessions/${id}`), given, 'no-such-session-2'],
    ['writes to a session', (id) => eve.call('POST', `/v1/sessions/${id}/findings`, { body: { x: 1 }, headers: { 'If-Match': '*' } }), 'secret-session', 'no-such-session-2'],
    ['sends in a session', (id) => eve.send('eve', 'x', { priority: 'critical' }, `?session=${id}`), 'secret-session', 'no-such-session-2'],
    ['sends in a thread', (id) => eve.send('eve', 'x', { conversation_id: id, priority: 'critical' }), 'secret-thread', 'no-such-thread'],
    ['sends in a thread to one who takes part', (id) => eve.send('cy', 'x', { conversation_id: id, priority: 'critical' }), 'secret-thread', 'no-such-thread'],
    ['closes a thread', (id) => eve.call('POST', `/v1/threads/${id}/close`), 'secret-thread', 'no-such-thread-2'],
    ['reads a thread that she wrote in', (id) => eve.call('GET', `/v1/threads/${id}`), 'secret-thread', 'no-such-thread'],
    ['reads a thread', (id) => eve.call('GET', `/v1/threads/${id}`), 'second-thread', 'no-such-thread-2'],
    ['reads a message', (id) => eve.call('GET', `/v1/messages/${id}`), sent.json.id, '11111111-1111-4111-8111-111111111111'],
    ['acks a message', (id) => eve.call('POST', `/v1/messages/${id}/ack`), sent.json.id, '11111111-1111-4111-8111-111111111111'],
    ['acks by seq', (id) => eve.call('POST', `/v1/messages/${id}/ack`), String(sent.json.seq), '999999'],
    ['asks for a delivery', (id) => eve.call('GET', `/v1/messages/${id}/delivery`), sent.json.id, '11111111-1111-4111-8111-111111111111'],
    ['asks for a trace', (id) => eve.call('GET', `/v1/traces/${id}`), sent.json.id, '11111111-1111-4111-8111-111111111111'],
    ['answers', (id) => eve.send('cy', 'x', { type: 'response', status: 'success', metadata: { in_reply_to: id } }), sent.json.id, '11111111-1111-4111-8111-111111111111'],
    ['reads a dead letter', (id) => eve.call('GET', `/v1/dead-letters/${id}`), '1', '999'],
    ['resolves an escalation', (id) => eve.call('POST', `/v1/escalations/${id}/resolve`, { body: { resolution: 'x' } }), '1', '999'],
    ['reads a scatter', (id) => eve.call('GET', `/v1/scatter/${id}`), sent.json.id, '11111111-1111-4111-8111-111111111111'],
  ];
  const plain = ({ status, json }, id) => `${status} ${json?.code ?? ''} ${(json?.detail ?? '').replaceAll(id, 'ID')}`;
  for (const [what, act, known, unknown] of pairs) {
    const [there, not] = [plain(await act(known), known), plain(await act(unknown), unknown)];
    if (there !== not) g.sees(`${what}: ${there.slice(0, 60)} | ${not.slice(0, 40)}`);
  }
}

// The seq of one's own messages counts what other workspaces do in between, as docs/security.md says. What
// tells more often, or without a message, is for those who look after the broker.
async function seqLeak(g) {
  const [ana] = await g.agents('ana', 'bo');
  const { json } = await g.broker.call('POST', '/v1/workspaces', { body: { name: 'other' } });
  const other = (method, path, body, token = json.token ?? json.admin_token) => g.broker.call(method, path, { token, body });
  const eve = await other('POST', '/v1/agents', { id: 'eve', dialect: 'flow' });
  const own = async () => (await other('POST', '/v1/messages?lenient=true', { type: 'notification', receiver: 'eve', payload: { content_type: 'text', body: 'x' } }, eve.json.token)).json;
  const [first, second] = [await own(), await own()];
  for (let n = 0; n < 10; ++n) await ana.send('bo', { n });
  const third = await own();
  const [idle, busy] = [second.seq - first.seq, third.seq - second.seq];
  g.note(`seq of own messages grows by ${idle}, and by ${busy} when the other workspace sent 10`);
  for (const [who, token] of [['an agent', eve.json.token], ['an admin of another workspace', json.token ?? json.admin_token]]) {
    const { text, json: health } = await other('GET', '/v1/health', undefined, token);
    if (health.seq !== undefined || health.history?.seq !== undefined || health.history?.behind !== undefined) g.sees(`${who}: GET /v1/health: ${text.slice(0, 80)}`);
    const metrics = await other('GET', '/metrics', undefined, token);
    if (metrics.status === 200) g.sees(`${who}: GET /metrics`);
  }
}

async function twoAuthorizations(g) {
  const [ana, eve] = await g.agents('ana', 'eve');
  for (const [what, fields] of [['two fields', [eve.token, ana.token]], ['a good and a bad one', [eve.token, 'prl_wrong']], ['a bad and a good one', ['prl_wrong', eve.token]]]) {
    const raw = await g.raw();
    await raw.send(`GET /v1/agents/eve HTTP/1.1\r\nHost: localhost\r\n${fields.map((each) => `Authorization: Bearer ${each}\r\n`).join('')}\r\n`);
    const answer = await raw.response();
    raw.end();
    if (answer?.status !== 400 && answer?.status !== 401) g.loses(`${what} of Authorization: ${answer?.status}`);
    g.note(`${what}: ${answer?.status}`);
  }
}

async function originUserinfo(g) {
  const eve = await g.agent('eve');
  const port = new URL(g.broker.url).port;
  for (const origin of ['http://localhost:x@evil', 'http://localhost@evil.example', `http://localhost:${port}@evil.example`, 'http://127.0.0.1:80@evil.example', 'http://localhost:80.evil.example',
    'http://localhost.evil.example', 'localhost:evil', 'http://[::1]:x@evil', 'null', 'http://evil.example/localhost', 'http://localhost:80/@evil']) {
    const raw = await g.raw();
    await raw.send(`GET /v1/inbox HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\nAuthorization: Bearer ${eve.token}\r\n\r\n`);
    const answer = await raw.response();
    raw.end();
    if (answer?.status === 200) g.loses(`Origin ${origin} is taken`);
  }
}

export const low = [
  { name: 'admin_token_link', issue: 'low', does: 'files of the data directory are links when the broker starts first', run: adminToken, own: true },
  { name: 'open_directory', issue: 'low', does: 'a data directory that others can write', run: openDirectory, own: true },
  { name: 'tls_suites', issue: 'low', does: 'TLS 1.2 with static RSA and CBC', run: tlsSuites, own: true },
  { name: 'names', issue: 'low', does: 'invisible characters and look-alikes in names', run: names },
  { name: 'oracles', issue: 'low', does: "asks for others' things and for what is not there", run: oracles },
  { name: 'seq_leak', issue: 'low', does: "looks for figures that count another workspace's activity", run: seqLeak },
  { name: 'two_authorizations', issue: 'low', does: 'two Authorization fields', run: twoAuthorizations },
  { name: 'origin_userinfo', issue: 'low', does: 'Origin http://localhost:x@evil', run: originUserinfo },
];
