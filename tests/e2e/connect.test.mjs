// SPDX-License-Identifier: Apache-2.0
// From nothing to a coding agent that has its mail: README.md and docs/connect.md to the letter, `parley mcp check`,
// and `parley mcp` against a real broker that is started anew.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { binary, Broker } from './harness.mjs';
import { initialize, legacy, modern, note, Stdio } from './mcp_stdio.mjs';
import { Newcomer, page, typed } from './pages.mjs';

function run(args, env, { input = '', cwd } = {}) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_')));
  return new Promise((done) => {
    const child = execFile(binary, args, { cwd, env: { ...clean, ...env } }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }));
    child.stdin.on('error', () => {});  // not all read it
    child.stdin.end(input);
  });
}

// On the broker, and in the home, of one who has followed the README.
describe('README.md, then docs/connect.md', () => {
  let newcomer, readme, text;
  before(async () => {
    newcomer = await Newcomer.arrive();
    readme = await page('README.md');
    text = await page('docs/connect.md');
  });
  after(() => newcomer.leave());
  const blocks = (language) => [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, body]) => body);
  // As it is here: the page shows a program that is installed.
  const here = (words) => words.replaceAll('"parley"', JSON.stringify(newcomer.program))
    .replaceAll('"parley hook', `"${newcomer.program} hook`);
  const project = () => join(newcomer.home, 'review');
  const section = (title) => typed(readme.split(/^## /m).find((part) => part.startsWith(`${title}\n`)));

  // XD-10
  it('does what it says', async () => {
    const first = ['The first message', 'With curl', 'Connect a coding agent'].map(section).join('\n');
    const then = typed(text.replace(/```.*?```/gs, ''));
    await newcomer.types(`${first}\n${then}`, [
      'the build is red', 'is it green again?', 'added parley in', 'ok   ack       acked',
      'added parley in', 'added hooks in', 'ok   send', 'ok   ack       acked', here(blocks('toml')[0]),
      '<parley-mail>', 'the build is red', '"protocolVersion":"2025-11-25"',
    ]);
    const { mcpServers } = JSON.parse(await readFile(join(project(), '.mcp.json'), 'utf8'));
    assert.deepEqual(mcpServers.parley, { type: 'stdio', command: newcomer.program, args: ['mcp', '--agent', 'rex'] });
    // Neither page changed an agent of the other.
    const dialects = {};
    for (const { id, dialect } of (await newcomer.broker.call('GET', '/v1/agents')).json.agents) dialects[id] = dialect;
    assert.deepEqual([dialects.ana, dialects.bo, dialects.cy, dialects.rex], ['flow', 'flow', 'inbox', 'inbox']);
  });

  it('shows each client the entry that is printed', async () => {
    const rows = [...text.matchAll(/^\| (\S+) \| `(\{.*?\})` \| `(\{.*\})` \|$/gm)];
    assert.deepEqual(rows.map(([, client]) => client), ['claude-code', 'gemini', 'vscode', 'cursor']);
    const env = { ...newcomer.env, PATH: join(newcomer.home, 'build') };
    for (const [, client, ...entries] of rows) {
      for (const [at, transport] of ['stdio', 'http'].entries()) {
        const { stdout } = await run(['mcp', 'config', '--client', client, '--agent', 'rex', '--transport', transport], env);
        const [servers] = Object.values(JSON.parse(stdout));
        const wanted = here(entries[at]).replace('http://127.0.0.1:7455', newcomer.broker.url);
        assert.deepEqual(servers.parley, JSON.parse(wanted), client);
      }
    }
  });

  it('has hooks that work as they stand', async () => {
    const found = blocks('json').map((body) => JSON.parse(here(body)).hooks);
    const files = { 'claude-code': '.claude/settings.local.json', gemini: '.gemini/settings.json', cursor: '.cursor/hooks.json' };
    assert.equal(found.length, 3);
    for (const [at, [client, file]] of Object.entries(files).entries()) {
      const { stderr } = await run(['mcp', 'config', '--client', client, '--agent', 'rex', '--hooks', '--write'],
        { ...newcomer.env, PATH: join(newcomer.home, 'build') }, { cwd: project() });
      assert.deepEqual(JSON.parse(await readFile(join(project(), file), 'utf8')).hooks, found[at], `${client} ${stderr}`);
    }
    for (const hooks of found) {
      for (const [event, [entry]] of Object.entries(hooks)) {
        const { command } = entry.hooks?.[0] ?? entry;
        const [program, ...args] = command.split(' ');
        assert.equal(program, newcomer.program);
        const { code, stdout } = await run(args, newcomer.env, { input: JSON.stringify({ hook_event_name: event }) });
        assert.equal(code, 0);
        assert.match(stdout, /^\{.*the build is red/, event);
      }
    }
  });

  it('writes what the client can start, from anywhere and with next to no environment', async () => {
    const { mcpServers: { parley } } = JSON.parse(await readFile(join(project(), '.mcp.json'), 'utf8'));
    const client = new Stdio(parley.args.slice(1), {}, { program: parley.command, bare: { HOME: newcomer.home, PATH: '/usr/bin:/bin' } });
    const { result } = await client.ask(modern(1, 'tools/call', { name: 'checkInbox', arguments: {} }));
    assert.equal(result.structuredContent.notifications[0].preview, 'the build is red');
    assert.deepEqual(await client.end(), { code: 0, signal: null });
  });
});

describe('parley mcp check', () => {
  let broker, bo;
  before(async () => {
    broker = await Broker.start();
    bo = await broker.addAgent('bo', { dialect: 'inbox', role: 'specialist' });
  });
  after(() => broker.remove());
  const check = (env, ...flags) => run(['mcp', 'check', ...flags], { HOME: '/nonexistent', PARLEY_URL: broker.url, ...env });

  it('shows each state of the way', async () => {
    const { code, stdout } = await check({ PARLEY_TOKEN: bo.token });
    assert.equal(code, 0, stdout);
    const wanted = [/^ok {3}broker {4}http/, /^ok {3}connect {3}MCP \["2026-07-28"\] by/, /^ok {3}identity {2}bo \(inbox\)/,
      /^ok {3}send {6}accepted, then queued; id /, /^ok {3}receive {3}0 messages before it; queued/, /^ok {3}read {6}from bo, as it was sent; acked$/,
      /^ok {3}ack {7}acked$/];
    const lines = stdout.trimEnd().split('\n');
    assert.equal(lines.length, wanted.length);
    wanted.forEach((line, at) => assert.match(lines[at], line));
    assert.equal((await bo.inbox()).json.count, 0);
  });

  it('is JSON for scripts, and works for agents of every dialect', async () => {
    for (const [id, dialect, role] of [['fay', 'flow', ''], ['cal', 'collab', 'worker']]) {
      const { token } = await broker.addAgent(id, { dialect, role });
      const { code, stdout } = await check({ PARLEY_TOKEN: token }, '--json');
      assert.equal(code, 0, stdout);
      const { ok, steps } = JSON.parse(stdout);
      assert.equal(ok, true);
      assert.deepEqual(steps.map(({ step }) => step), ['broker', 'connect', 'identity', 'send', 'receive', 'read', 'ack']);
      assert.ok(steps.every(({ ms }) => Number.isFinite(ms) && ms >= 0));
    }
  });

  it('says which step failed, and what to do', async () => {
    const fails = async (env, words, ...flags) => {
      const { code, stdout } = await check(env, ...flags);
      assert.equal(code, 1);
      const last = stdout.trimEnd().split('\n').slice(-2).join('\n');
      assert.match(last, words);
      assert.doesNotMatch(stdout, /prl_/);
    };
    await fails({}, /^fail broker .*\n {5}Give --agent/);
    await fails({ PARLEY_TOKEN: 'prl_wrong' }, /^fail connect .*token/);
    await fails({ PARLEY_TOKEN: bo.token, PARLEY_URL: 'http://127.0.0.1:1' }, /^fail broker {4}no broker answers.*\n {5}\w/);
    await fails({ PARLEY_TOKEN: '' }, /^fail broker {4}PARLEY_TOKEN is set but empty/);
    await fails({}, /^fail broker .*no token of zoe/, '--agent', 'zoe');
  });

  it('notices a token that is another\'s', async () => {
    const home = join(broker.data, 'home');
    await run(['agent', 'keep', 'ana'], { HOME: home }, { input: bo.token });
    const { code, stdout } = await check({ HOME: home }, '--agent', 'ana');
    assert.equal(code, 1);
    assert.match(stdout, /fail identity {2}the token kept for ana is that of bo/);
  });

  it('names the file of a token that is of another broker', async () => {
    const home = join(broker.data, 'home');
    await run(['agent', 'keep', 'old'], { HOME: home }, { input: 'prl_of_another_broker' });
    const { code, stdout } = await check({ HOME: home, XDG_CONFIG_HOME: '' }, '--agent', 'old');
    assert.equal(code, 1);
    assert.match(stdout, /fail connect .*old in \S+\/agents\/old\.token is not one of http.*\n {5}.*remove the file/);
  });

  it('leaves nothing behind when a step fails', async () => {
    const full = await broker.addAgent('full', { dialect: 'inbox', role: 'specialist' });
    const critical = Array.from({ length: 101 }, () => ({ type: 'notification', receiver: 'full', priority: 'critical',
      payload: { content_type: 'text', body: 'x' } }));
    await broker.call('POST', '/v1/messages?lenient=true', { body: critical });
    const { code, stdout } = await check({ PARLEY_TOKEN: full.token });
    assert.equal(code, 1);
    assert.match(stdout, /fail receive .*\n {5}Settle what waits first/);
    const { json } = await broker.call('GET', '/v1/agents/full');
    assert.equal(json.queue_depth, 101, JSON.stringify(json));
  });
});

describe('parley mcp and a broker that is started anew', () => {
  it('goes on in a new session', async () => {
    const broker = await Broker.start();
    const bo = await broker.addAgent('bo', { dialect: 'inbox', role: 'specialist' });
    const client = new Stdio([], { PARLEY_TOKEN: bo.token, PARLEY_DATA: broker.data });
    try {
      client.send(initialize(0), note('notifications/initialized'));
      await client.next();
      const count = async (id) => (await client.ask(legacy(id, 'tools/call', { name: 'checkInbox', arguments: {} })))
        .result.structuredContent.count;
      assert.equal(await count(1), 0);
      await broker.kill();
      await broker.run();  // on another port
      await broker.call('POST', '/v1/messages?lenient=true', { body: { type: 'notification', receiver: 'bo', payload: { content_type: 'text', body: 'x' } } });
      assert.equal(await count(2), 1);
      assert.deepEqual(await client.end(), { code: 0, signal: null });
    } finally {
      client.process.kill('SIGKILL');
      await broker.remove();
    }
  });
});
