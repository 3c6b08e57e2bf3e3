// SPDX-License-Identifier: Apache-2.0
// The lines of docs/patterns.md run as they stand: only the port is another.
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

describe('docs/patterns.md', () => {
  let home, broker;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'parley-docs-'));
    await mkdir(join(home, 'build'));
    await symlink(binary, join(home, 'build/parley'));
    broker = await Broker.start({ data: join(home, 'state/parley'), limited: true });
  });
  after(async () => {
    await broker.remove();
    await rm(home, { recursive: true, force: true });
  });

  it('does what it says', async () => {
    const page = await readFile(join(root, 'docs/patterns.md'), 'utf8');
    const script = page.split('\n').filter((line) => line.startsWith('    '))
      .map((line) => line.slice(4)).join('\n').replaceAll('http://127.0.0.1:7455', broker.url);
    const env = { ...process.env, XDG_STATE_HOME: join(home, 'state'), HOME: home };
    delete env.PARLEY_TOKEN;
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-o', 'pipefail', '-c', script],
      { cwd: home, env });
    const said = [
      'yes, it is green', '"code":"TIMEOUT"', 'request_timed_out', 'resolved escalation 1',
      'build.done', '"state":"accepted"', 'running', 'open: 0 of 2 answers (majority)',
      'receiver_not_found',
    ];
    let at = 0;
    for (const words of said) {
      at = stdout.indexOf(words, at);
      assert.notEqual(at, -1, `${words} is not in: ${stdout}`);
    }
  });
});
