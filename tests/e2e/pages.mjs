// SPDX-License-Identifier: Apache-2.0
// Runs the indented lines of a page as a new user would: in an empty directory that has the binary
// in build/, beside a broker with its default limits. Only the port is another than on the page.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { binary, Broker } from './harness.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const page = (name) => readFile(join(root, name), 'utf8');

// What of a text is to be typed.
export const typed = (text) => text.split('\n').filter((line) => line.startsWith('    '))
  .map((line) => line.slice(4)).join('\n');

export class Newcomer {
  static async arrive() {
    const newcomer = new Newcomer();
    newcomer.home = await mkdtemp(join(tmpdir(), 'parley-page-'));
    await mkdir(join(newcomer.home, 'build'));
    await symlink(binary, join(newcomer.home, 'build/parley'));
    newcomer.broker = await Broker.start({ data: join(newcomer.home, '.local/state/parley') });
    return newcomer;
  }
  // That of a user who has set nothing.
  get env() {
    const kept = Object.entries(process.env).filter(([name]) => !/^(PARLEY|XDG)_/.test(name));
    return { ...Object.fromEntries(kept), HOME: this.home };
  }
  // The program, as the lines find it.
  get program() { return join(this.home, 'build/parley'); }
  async leave() {
    await this.broker.remove();
    await rm(this.home, { recursive: true, force: true });
  }
  // Types the lines; what they print has these words, in this order.
  async types(lines, said) {
    const script = lines.replaceAll('http://127.0.0.1:7455', this.broker.url);
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-o', 'pipefail', '-c', script],
      { cwd: this.home, env: this.env });
    let at = 0;
    for (const words of said) {
      at = stdout.indexOf(words, at);
      assert.notEqual(at, -1, `${words} is not in: ${stdout}`);
    }
  }
}
