// SPDX-License-Identifier: Apache-2.0
// The README's lines do what it says, to the letter: only the port is another.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { after, before, describe, it } from 'node:test';
import { binary, Broker } from './harness.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

// The indented lines of a section.
function lines(readme, title) {
  const section = readme.split(/^## /m).find((text) => text.startsWith(`${title}\n`));
  return section.split('\n').filter((line) => line.startsWith('    '))
    .map((line) => line.slice(4)).join('\n');
}

describe('the README', () => {
  let home, broker, readme;
  before(async () => {
    readme = await readFile(join(root, 'README.md'), 'utf8');
    home = await mkdtemp(join(tmpdir(), 'parley-readme-'));
    await mkdir(join(home, 'build'));
    await symlink(binary, join(home, 'build/parley'));
    broker = await Broker.start({ data: join(home, 'state/parley'), limited: true });
  });
  after(async () => {
    await broker.remove();
    await rm(home, { recursive: true, force: true });
  });

  it('leads to a first message, on the command line and with curl', async () => {
    const script = [lines(readme, 'The first message'), lines(readme, 'With curl')].join('\n')
      .replaceAll('http://127.0.0.1:7455', broker.url);
    const env = { ...process.env, XDG_STATE_HOME: join(home, 'state'), HOME: home };
    delete env.PARLEY_TOKEN;
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-o', 'pipefail', '-c', script],
      { cwd: home, env });
    const said = ['the build is red', 'acked', '"state":"accepted"', 'is it green again?'];
    let at = 0;
    for (const words of said) {
      at = stdout.indexOf(words, at);
      assert.notEqual(at, -1, `${words} is not in: ${stdout}`);
    }
    const api = JSON.parse(await readFile(join(home, 'openapi.json'), 'utf8'));
    assert.match(api.openapi, /^3\.1/);
  });

  it('says how make run tells the way', async () => {
    const makefile = await readFile(join(root, 'Makefile'), 'utf8');
    for (const command of ['agent add ana', "send --to bo 'hello'", 'parley inbox']) {
      assert.ok(makefile.includes(command), command);
    }
  });
});
