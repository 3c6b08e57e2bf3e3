// SPDX-License-Identifier: Apache-2.0
// `parley mcp config` with homes and repositories of its own: what it writes, what it leaves alone,
// and where no token ever gets to.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { binary, Broker } from './harness.mjs';

const files = {
  'claude-code': ['.mcp.json', '.claude.json', 'mcpServers'],
  codex: ['.codex/config.toml', '.codex/config.toml'],
  gemini: ['.gemini/settings.json', '.gemini/settings.json', 'mcpServers'],
  vscode: ['.vscode/mcp.json', '.config/Code/User/mcp.json', 'servers'],
  cursor: ['.cursor/mcp.json', '.cursor/mcp.json', 'mcpServers'],
};

const program = join(dirname(binary), 'parley');

describe('parley mcp config', () => {
  let broker, place, home, project, env;
  before(async () => { broker = await Broker.start(); });
  after(() => broker.remove());
  beforeEach(async (test) => {
    place = await mkdtemp(join(tmpdir(), 'parley-config-'));
    [home, project] = [join(place, 'home'), join(place, 'project')];
    await mkdir(home);
    await mkdir(project);
    env = { PATH: `${dirname(binary)}:${process.env.PATH}`, HOME: home, PARLEY_DATA: broker.data };
    test.after?.(() => rm(place, { recursive: true, force: true }));
  });

  function run(args, { cwd = project, input = '', extra = {} } = {}) {
    return new Promise((done) => {
      const child = execFile(binary, args, { cwd, env: { ...env, ...extra } }, (error, stdout, stderr) =>
        done({ code: error?.code ?? 0, stdout, stderr }));
      child.stdin.on('error', () => {});  // not all read it
      child.stdin.end(input);
    });
  }
  const config = (client, ...flags) => run(['mcp', 'config', '--client', client, '--agent', 'bo', ...flags]);
  const git = (...args) => execFileSync('git', ['-C', args[0], '-c', 'user.name=t', '-c', 'user.email=t@t', ...args.slice(1)],
    { env: { ...process.env, HOME: home }, encoding: 'utf8' });
  const token = () => join(home, '.config/parley/agents/bo.token');
  // Every file below a directory, git's own too, as one text.
  async function contents(directory) {
    let all = '';
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      all += entry.isDirectory() ? await contents(path) : entry.isFile() ? await readFile(path, 'latin1') : '';
    }
    return all;
  }

  it('prints the snippet and writes nothing', async () => {
    for (const client of Object.keys(files)) {
      const { code, stdout, stderr } = await config(client);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /"mcp", "--agent", "bo", "--data"/);
      assert.match(stderr, /belongs into/);
    }
    assert.deepEqual(await readdir(project), []);
  });

  it('names the program by its path, as the shell finds it, so that every client does', async () => {
    assert.ok((await config('claude-code')).stdout.includes(`"command": "${program}"`));
    env.PATH = '/usr/bin:/bin';
    assert.ok((await config('claude-code')).stdout.includes(`"command": "${await realpath(binary)}"`));
    await mkdir(join(place, 'bin'));
    await symlink(binary, join(place, 'bin/parley'));
    env.PATH = `${join(place, 'bin')}:/usr/bin:/bin`;
    assert.ok((await config('claude-code')).stdout.includes(`"command": "${join(place, 'bin/parley')}"`));
  });

  it('takes the address that is given, and no other for it', async () => {
    const http = ['--transport', 'http'];
    assert.match((await config('claude-code', ...http, '--url', 'https://parley.example.org/')).stdout, /"url": "https:\/\/parley.example.org\/mcp"/);
    env.PARLEY_URL = 'https://other.example.org';
    assert.match((await config('codex', ...http)).stdout, /url = "https:\/\/other.example.org\/mcp"/);
    delete env.PARLEY_URL;
    const dead = await config('claude-code', ...http, '--data', join(place, 'none'));
    assert.deepEqual([dead.code, dead.stdout], [1, '']);
    assert.match(dead.stderr, /no broker is running on/);
    const secret = await config('claude-code', '--url', 'http://u:secret@host');
    assert.deepEqual([secret.code, secret.stdout], [1, '']);
    assert.match(secret.stderr, /password/);
  });

  it('writes what works with next to no environment, wherever XDG has its files', async () => {
    const extra = { XDG_CONFIG_HOME: join(place, 'x'), XDG_STATE_HOME: join(place, 's') };
    await mkdir(extra.XDG_STATE_HOME);
    await symlink(broker.data, join(extra.XDG_STATE_HOME, 'parley'));
    delete env.PARLEY_DATA;
    const made = await run(['mcp', 'config', '--client', 'claude-code', '--agent', 'xx', '--register', '--hooks', '--write'], { extra });
    assert.equal(made.code, 0, made.stderr);
    const { mcpServers: { parley } } = JSON.parse(await readFile(join(project, '.mcp.json'), 'utf8'));
    const bare = { PATH: '/usr/bin:/bin', HOME: home };
    const server = spawnSync(parley.command, parley.args, { env: bare, encoding: 'utf8',
      input: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n' });
    assert.match(server.stdout, /"protocolVersion":"2025-11-25"/, server.stderr);
    const { hooks } = JSON.parse(await readFile(join(project, '.claude/settings.local.json'), 'utf8'));
    const hook = spawnSync('sh', ['-c', hooks.Stop[0].hooks[0].command], { env: bare, encoding: 'utf8', input: '{"hook_event_name":"Stop"}' });
    assert.deepEqual([hook.status, hook.stdout, hook.stderr], [0, '', '']);
    await broker.call('DELETE', '/v1/agents/xx');
  });

  it('writes each client its file, of the project or of the user, once', async () => {
    for (const [client, [ofProject, ofUser, key]] of Object.entries(files)) {
      for (const [scope, path] of [['project', join(project, ofProject)], ['user', join(home, ofUser)]]) {
        for (const transport of ['stdio', 'http']) {
          const flags = ['--write', '--scope', scope, '--transport', transport, '--name', `p-${transport}`];
          const first = await config(client, ...flags);
          assert.equal(first.code, 0, first.stderr);
          assert.match(first.stdout, new RegExp(`added p-${transport} in ${path}`));
          const written = await readFile(path, 'utf8');
          const again = await config(client, ...flags);
          assert.match(again.stdout, /has p-\w+ already/);
          assert.equal(await readFile(path, 'utf8'), written);
        }
        if (key) {
          const { [key]: servers } = JSON.parse(await readFile(path, 'utf8'));
          assert.deepEqual(Object.keys(servers), ['p-stdio', 'p-http']);
          assert.equal(servers['p-stdio'].command, program);
          assert.match(servers['p-http'].headers.Authorization, /^Bearer \$/);
        }
      }
    }
    const toml = await readFile(join(home, '.codex/config.toml'), 'utf8');
    assert.ok(toml.startsWith(`[mcp_servers.p-stdio]\ncommand = "${program}"\nargs = ["mcp", "--agent", "bo"`), toml);
    assert.match(toml, new RegExp(`url = "${broker.url}/mcp"\nbearer_token_env_var = "PARLEY_TOKEN"\n$`));
    const { inputs } = JSON.parse(await readFile(join(project, '.vscode/mcp.json'), 'utf8'));
    assert.deepEqual(inputs.map(({ id, password }) => [id, password]), [['parley-token', true]]);
  });

  it('leaves other entries, comments and links as they are', async () => {
    const json = '{\n\t// mine\n\t"servers": {\n\t\t"a": { "command": "x" }, // last\n\t},\n\t"inputs": []\n}\n';
    await mkdir(join(project, '.vscode'));
    await writeFile(join(place, 'shared.json'), json, { mode: 0o640 });
    await symlink(join(place, 'shared.json'), join(project, '.vscode/mcp.json'));
    assert.equal((await config('vscode', '--write')).code, 0);
    assert.ok((await lstat(join(project, '.vscode/mcp.json'))).isSymbolicLink());
    assert.equal((await stat(join(place, 'shared.json'))).mode & 0o777, 0o640);
    const after = await readFile(join(place, 'shared.json'), 'utf8');
    for (const line of json.split('\n')) assert.ok(after.includes(line), line);

    const toml = 'model = "o" # mine\n\n[[rules]]\na = 0.5\n\n[mcp_servers.a] # theirs\nurl = "x"\n';
    await mkdir(join(home, '.codex'));
    await writeFile(join(home, '.codex/config.toml'), toml);
    assert.equal((await config('codex', '--write', '--scope', 'user')).code, 0);
    assert.ok((await readFile(join(home, '.codex/config.toml'), 'utf8')).startsWith(toml));
  });

  it('replaces another entry of its name only when asked, and what it cannot read never', async () => {
    const path = join(project, '.mcp.json');
    const other = '{"mcpServers": {"parley": {"type": "http", "url": "x"}}}';
    await writeFile(path, other);
    const kept = await config('claude-code', '--write');
    assert.equal(kept.code, 1);
    assert.match(kept.stderr, /another entry parley.*\n.*--replace/);
    assert.equal(await readFile(path, 'utf8'), other);
    assert.equal((await config('claude-code', '--write', '--replace')).code, 0);
    assert.equal(JSON.parse(await readFile(path, 'utf8')).mcpServers.parley.command, program);

    for (const [client, [file]] of Object.entries(files)) {
      await mkdir(dirname(join(project, file)), { recursive: true });
      await writeFile(join(project, file), '{"mcpServers": {\n= oops');
      const broken = await config(client, '--write', '--replace');
      assert.equal(broken.code, 1, client);
      assert.match(broken.stderr, /line \d/);
      assert.equal(await readFile(join(project, file), 'utf8'), '{"mcpServers": {\n= oops');
    }
  });

  it('adds the hooks of each client, once, beside those that are there', async () => {
    const hooks = { 'claude-code': '.claude/settings.local.json', codex: '.codex/hooks.json', gemini: '.gemini/settings.json', cursor: '.cursor/hooks.json' };
    const own = join(project, '.claude/settings.local.json');
    await mkdir(join(project, '.claude'));
    await writeFile(own,
      '{\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "mine"}]}] // mine\n  }\n}\n');
    delete env.PARLEY_DATA;
    for (const [client, file] of Object.entries(hooks)) {
      for (const [path, scope] of [[join(project, file), 'project'], [join(home, file.replace('.local', '')), 'user']]) {
        const first = await config(client, '--hooks', '--write', '--scope', scope);
        assert.equal(first.code, 0, first.stderr);
        assert.ok(first.stdout.includes(`added hooks in ${path}`), first.stdout);
        const written = await readFile(path, 'utf8');
        const again = await config(client, '--hooks', '--write', '--scope', scope);
        assert.ok(again.stdout.includes(`${path} has hooks already`), again.stdout);
        assert.equal(await readFile(path, 'utf8'), written);
        assert.equal(written.split(`"${program} hook --agent bo"`).length, client === 'cursor' ? 3 : 4);
      }
    }
    const kept = await readFile(own, 'utf8');
    assert.match(kept, /\], \/\/ mine/);
    assert.deepEqual(JSON.parse(kept.replace('// mine', '')).hooks.Stop.map((each) => each.hooks[0].command), ['mine', `${program} hook --agent bo`]);
    assert.match((await config('codex', '--hooks')).stderr, /\/hooks/);
  });

  it('prints one document for one file', async () => {
    const { stdout } = await config('gemini', '--hooks');
    assert.deepEqual(Object.keys(JSON.parse(stdout)), ['mcpServers', 'hooks']);
  });

  // Another agent's mail would come into the model's context, twice the same in any case.
  it('has one agent\'s hooks: those of another stay, or are replaced', async () => {
    const path = join(project, '.claude/settings.local.json');
    const commands = async () => Object.values(JSON.parse(await readFile(path, 'utf8')).hooks)
      .flatMap((groups) => groups.flatMap(({ hooks }) => hooks.map(({ command }) => command)));
    delete env.PARLEY_DATA;
    assert.equal((await config('claude-code', '--hooks', '--write')).code, 0);
    const as = (...flags) => run(['mcp', 'config', '--client', 'vscode', '--agent', 'dd', '--hooks', '--write', ...flags]);
    const refused = await as();
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /has the hook `\S+ hook --agent bo`/);
    assert.deepEqual(await readdir(project).then((names) => names.sort()), ['.claude', '.mcp.json'], 'nothing is done by halves');
    assert.equal((await as('--replace')).code, 0);
    assert.deepEqual(await commands(), Array(3).fill(`${program} hook --agent dd`));
    // By hand, in another place and twice, beside others in one group.
    const group = [{ type: 'command', command: "FOO=1 '/opt/p q/parley' hook --agent dd --quiet" }, { type: 'command', command: 'mine' }];
    await writeFile(path, JSON.stringify({ hooks: { Stop: [{ hooks: group }, { hooks: [{ type: 'command', command: 'parley hook' }] }] } }));
    assert.equal((await as()).code, 1);
    assert.equal((await as('--replace')).code, 0);
    const { Stop } = JSON.parse(await readFile(path, 'utf8')).hooks;
    assert.deepEqual(Stop, [{ hooks: [{ type: 'command', command: `${program} hook --agent dd` }, group[1]] }]);
    const done = await as();
    assert.match(done.stdout, /has hooks already/);
    assert.equal(done.stderr.match(/hooks of Parley's too/), null);
    assert.match((await as('--scope', 'user')).stderr, /settings\.local\.json has hooks of Parley's too/);
  });

  it('keeps what it does not know of a file, or does nothing', async () => {
    const path = join(project, '.mcp.json');
    await mkdir(path);
    const directory = await config('claude-code', '--write');
    assert.deepEqual([directory.code, directory.stdout], [1, '']);
    assert.match(directory.stderr, /\.mcp\.json is no file/);
    await rm(path, { recursive: true });
    execFileSync('mkfifo', [path]);
    assert.match((await config('claude-code', '--write')).stderr, /\.mcp\.json is no file/);
    await rm(path);

    await symlink('dot/mcp.json', path);  // to nothing yet
    assert.equal((await config('claude-code', '--write')).code, 0);
    assert.ok((await lstat(path)).isSymbolicLink());
    assert.ok(JSON.parse(await readFile(join(project, 'dot/mcp.json'), 'utf8')).mcpServers.parley);
    await rm(path);

    await mkdir(join(project, '.claude'));
    await writeFile(join(project, '.claude/settings.local.json'), '{"hooks": {"Stop": {}}}');
    const halves = await config('claude-code', '--hooks', '--write');
    assert.equal(halves.code, 1);
    assert.match(halves.stderr, /line 1: Stop is no array/);
    await assert.rejects(stat(path), 'the entry was not written');
    await writeFile(path, '{"mcpServers": null}');
    assert.equal((await config('claude-code', '--write')).code, 0);
    assert.ok(JSON.parse(await readFile(path, 'utf8')).mcpServers.parley);
  });

  it('takes no empty name', async () => {
    const { code, stderr } = await run(['mcp', 'config', '--client', 'cursor', '--agent', '']);
    assert.equal(code, 2);
    assert.match(stderr, /--agent/);
    assert.match((await run(['mcp', 'config', '--client', 'cursor', '--agent', 'a b"c'])).stderr, /agent add 'a b"c' .* agent keep 'a b"c'\n/);
  });

  it('quotes a name for the shell that runs the hook', async () => {
    const { stdout } = await run(['mcp', 'config', '--client', 'cursor', '--agent', "o'b $x", '--hooks', '--write']);
    assert.match(stdout, /added hooks/);
    const { hooks } = JSON.parse(await readFile(join(project, '.cursor/hooks.json'), 'utf8'));
    assert.ok(hooks.stop[0].command.startsWith(`${program} hook --agent 'o'\\''b $x' --data `), hooks.stop[0].command);
  });

  it('registers the agent and keeps its token for its owner alone, out of every repository', async () => {
    git(project, 'init', '-q');
    await writeFile(join(project, '.mcp.json'), '{}');
    git(project, 'add', '.');
    const made = await config('claude-code', '--register', '--dialect', 'flow', '--write');
    assert.equal(made.code, 0, made.stderr);
    const secret = (await readFile(token(), 'utf8')).trim();
    assert.match(secret, /^prl_/);
    assert.equal((await stat(token())).mode & 0o777, 0o600);
    assert.equal((await stat(dirname(token()))).mode & 0o777, 0o700);
    for (const client of Object.keys(files)) {
      for (const transport of ['stdio', 'http']) {
        const { code, stdout, stderr } = await config(client, '--transport', transport, '--write', '--replace', '--register');
        assert.equal(code, 0, stderr);
        assert.ok(!(stdout + stderr).includes(secret));
      }
    }
    git(project, 'add', '-A');
    assert.ok(!(await contents(project)).includes(secret));
    assert.equal((await run(['hook', '--agent', 'bo'])).stderr, '');
    assert.equal((await run(['inbox', '--token', 'agent:bo'])).code, 0);
    assert.equal((await run(['inbox'], { extra: { PARLEY_TOKEN: 'agent:bo' } })).code, 0);
    const nobody = await run(['inbox', '--token', 'agent:zoe']);
    assert.equal(nobody.code, 1);
    assert.match(nobody.stderr, /no token of zoe/);
  });

  it('changes no agent that is registered already', async () => {
    const { token: secret } = await broker.addAgent('eve');
    const eve = async (...flags) => run(['mcp', 'config', '--client', 'cursor', '--agent', 'eve', '--register', '--write', ...flags]);
    const refused = await eve();
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /eve is registered already.*\n.*parley agent keep eve.*parley agent remove eve/);
    const { json } = await broker.call('GET', '/v1/agents/eve');
    assert.deepEqual([json.dialect, json.role ?? ''], ['flow', '']);
    assert.deepEqual(await readdir(project), []);
    await run(['agent', 'keep', 'eve'], { input: secret });
    assert.equal((await eve()).code, 0);
    assert.equal((await broker.call('GET', '/v1/agents/eve')).json.dialect, 'flow');
    await run(['agent', 'keep', 'eve'], { input: 'prl_of_another_broker' });
    const stale = await eve();
    assert.equal(stale.code, 1);
    assert.match(stale.stderr, /eve in \S+eve\.token is not one of http.*\n.*remove the file/);
  });

  it('registers nobody whose token it could not keep', async () => {
    await mkdir(join(home, '.config'));
    await writeFile(join(home, '.config/parley'), 'a file');
    const { code, stderr } = await run(['mcp', 'config', '--client', 'cursor', '--agent', 'lost', '--register', '--write']);
    assert.equal(code, 1);
    assert.match(stderr, /cannot make/);
    assert.equal((await broker.call('GET', '/v1/agents/lost')).status, 404);
    assert.deepEqual(await readdir(project), []);
  });

  it('tells when git would commit the name of the agent', async () => {
    git(project, 'init', '-q');
    assert.match((await config('cursor', '--write')).stderr, /git would commit it/);
    await writeFile(join(project, '.gitignore'), '*\n');
    assert.doesNotMatch((await config('cursor', '--write', '--name', 'p2')).stderr, /git would commit it/);
  });

  it('keeps a token in a home that is a repository only where git ignores it', async () => {
    git(home, 'init', '-q');
    assert.equal((await run(['agent', 'keep', 'bo'], { input: 'prl_first\n' })).stdout, `${token()}\n`);
    git(home, 'add', '-A');
    assert.doesNotMatch(git(home, 'ls-files'), /token/);
    git(home, 'add', '-f', token());
    git(home, 'commit', '-q', '-m', 'oops');
    const refused = await run(['agent', 'keep', 'bo'], { input: 'prl_second\n' });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /git tracks/);
    assert.equal(await readFile(token(), 'utf8'), 'prl_first\n');
    for (const input of ['', '\n', 'two words', 'prl_\u0001']) {
      assert.equal((await run(['agent', 'keep', 'bo'], { input })).code, 1, JSON.stringify(input));
    }
  });

  it('takes a directory of tokens back from others', async () => {
    await mkdir(dirname(token()), { recursive: true });
    await writeFile(join(dirname(token()), '.gitignore'), 'mine');
    await chmod(dirname(token()), 0o777);
    assert.equal((await run(['agent', 'keep', 'bo'], { input: 'prl_x' })).code, 0);
    assert.equal((await stat(dirname(token()))).mode & 0o777, 0o700);
    assert.equal(await readFile(join(dirname(token()), '.gitignore'), 'utf8'), 'mine\n*\n');
  });

  it('keeps the tokens of names with any characters apart', async () => {
    const { stdout } = await run(['agent', 'keep', 'agent:../x/y'], { input: 'prl_x' });
    assert.equal(stdout, `${join(dirname(token()), 'agent%3A..%2Fx%2Fy.token')}\n`);
  });
});
