// SPDX-License-Identifier: Apache-2.0
// The README's lines do what it says, to the letter: only the port is another.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Newcomer, page, typed } from './pages.mjs';

// The lines of a section.
function lines(readme, title) {
  return typed(readme.split(/^## /m).find((text) => text.startsWith(`${title}\n`)));
}

describe('the README', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  it('leads to a first message, on the command line and with curl', async () => {
    const readme = await page('README.md');
    await newcomer.types(['The first message', 'With curl', 'Connect a coding agent'].map((title) =>
      lines(readme, title)).join('\n'),
      ['the build is red', 'acked', '"state":"accepted"', 'is it green again?', 'added parley in', 'acked']);
    assert.ok(await readFile(join(newcomer.home, 'hello-parley/.mcp.json'), 'utf8'), 'not in the directory of the sources');
    const api = JSON.parse(await readFile(join(newcomer.home, 'openapi.json'), 'utf8'));
    assert.match(api.openapi, /^3\.1/);
  });

  // A second time, in a new terminal: nobody becomes the admin by an empty variable.
  it('can be followed again', async () => {
    const said = lines(await page('README.md'), 'The first message').split('\n').filter((line) => !line.includes('agent add'));
    await newcomer.types(said.join('\n'), ['the build is red', 'ana', 'acked']);
  });

  it('says what is here', async () => {
    assert.doesNotMatch(await page('README.md'), /MCP[^.]*not here yet/);
  });

  it('says how make run tells the way', async () => {
    const makefile = await page('Makefile');
    for (const command of ['agent add ana', "send --to bo 'hello'", 'parley inbox']) {
      assert.ok(makefile.includes(command), command);
    }
  });
});
