// SPDX-License-Identifier: Apache-2.0
// `parley mcp config` with homes and repositories of its own: what it writes, what it leaves alone,
// and where no token ever gets to.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
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

  it('names the program as the shell finds it, or by its path', async () => {
    assert.match((await config('claude-code')).stdout, /"command": "parley"/);
    env.PATH = '/usr/bin:/bin';
    assert.ok((await config('claude-code')).stdout.includes(`"command": "${binary}"`));
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
          assert.equal(servers['p-stdio'].command, 'parley');
          assert.match(servers['p-http'].headers.Authorization, /^Bearer \$/);
        }
      }
    }
    const toml = await readFile(join(home, '.codex/config.toml'), 'utf8');
    assert.match(toml, /^\[mcp_servers.p-stdio\]\ncommand = "parley"\nargs = \["mcp", "--agent", "bo"/);
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
    assert.equal(JSON.parse(await readFile(path, 'utf8')).mcpServers.parley.command, 'parley');

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
    const hooks = { 'claude-code': '.claude/settings.json', codex: '.codex/hooks.json', gemini: '.gemini/settings.json', cursor: '.cursor/hooks.json' };
    await mkdir(join(project, '.claude'));
    await writeFile(join(project, '.claude/settings.json'),
      '{\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "mine"}]}] // mine\n  }\n}\n');
    delete env.PARLEY_DATA;
    for (const [client, file] of Object.entries(hooks)) {
      for (const [path, scope] of [[join(project, file), 'project'], [join(home, file), 'user']]) {
        const first = await config(client, '--hooks', '--write', '--scope', scope);
        assert.equal(first.code, 0, first.stderr);
        assert.ok(first.stdout.includes(`added hooks in ${path}`), first.stdout);
        const written = await readFile(path, 'utf8');
        const again = await config(client, '--hooks', '--write', '--scope', scope);
        assert.ok(again.stdout.includes(`${path} has hooks already`), again.stdout);
        assert.equal(await readFile(path, 'utf8'), written);
        assert.equal(written.split('"parley hook --agent bo"').length, client === 'cursor' ? 3 : 4);
      }
    }
    const kept = await readFile(join(project, '.claude/settings.json'), 'utf8');
    assert.match(kept, /\], \/\/ mine/);
    assert.deepEqual(JSON.parse(kept.replace('// mine', '')).hooks.Stop.map((each) => each.hooks[0].command), ['mine', 'parley hook --agent bo']);
  });

  it('quotes a name for the shell that runs the hook', async () => {
    const { stdout } = await run(['mcp', 'config', '--client', 'cursor', '--agent', "o'b $x", '--hooks', '--write']);
    assert.match(stdout, /added hooks/);
    const { hooks } = JSON.parse(await readFile(join(project, '.cursor/hooks.json'), 'utf8'));
    assert.match(hooks.stop[0].command, /^parley hook --agent 'o'\\''b \$x' --data /);
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
    const again = await run(['mcp', 'config', '--client', 'cursor', '--agent', 'bo', '--register', '--dialect', 'flow', '--write'],
      { extra: { XDG_CONFIG_HOME: join(place, 'elsewhere') } });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /registered already|exists/);
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

  it('keeps the tokens of names with any characters apart', async () => {
    const { stdout } = await run(['agent', 'keep', 'agent:../x/y'], { input: 'prl_x' });
    assert.equal(stdout, `${join(dirname(token()), 'agent%3A..%2Fx%2Fy.token')}\n`);
  });
});
