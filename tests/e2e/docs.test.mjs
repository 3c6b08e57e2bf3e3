// SPDX-License-Identifier: Apache-2.0
// The lines of the pages run as they stand: only the port is another.
import { after, before, describe, it } from 'node:test';
import { Newcomer, page, typed } from './pages.mjs';

describe('docs/patterns.md', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  it('does what it says', async () => {
    await newcomer.types(typed(await page('docs/patterns.md')), [
      'yes, it is green', '"code":"TIMEOUT"', 'request_timed_out', 'resolved escalation 1', 'the door is open', 'acknowledged',
      'build.done', '"state":"accepted"', 'running', 'open: 0 of 2 answers (majority)',
      'receiver_not_found',
    ]);
  });
});

describe('docs/reference', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());
  const path = 'export PATH=$PWD/build:$PATH\n';

  it('does what session.md says', async () => {
    await newcomer.types(path + typed(await page('docs/reference/session.md')), [
      'release-42', 'version 2', 'release-42: active, version 2', 'decision: Use YAML', 'version 3',
    ]);
  });

  // IN-10
  it('does what task.md says', async () => {
    await newcomer.types(path + typed(await page('docs/reference/task.md')), [
      '"state":"accepted"', 't-1: assigned, Find the leak', 'reassigned from sam to sue by admin', 'Find the leak',
    ]);
  });

  it('does what lock.md says', async () => {
    await newcomer.types(path + typed(await page('docs/reference/lock.md')), ['deploy', 'admin', 'released deploy']);
  });
});

describe('docs/waking.md', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  it('XD-10: does what it says', async () => {
    await newcomer.types(typed(await page('docs/waking.md')), [
      '"count":1', 'event: message', '"mark":"1-1"', 'id: 2-0', 'good morning', 'notification from ana', 'it is green', 'whsec_', 'webhook.state', 'ready',
    ]);
  });
});

describe('docs/collab.md', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  // CO-01, CO-02, CO-03, CO-04, XD-01
  it('does what it says', async () => {
    await newcomer.types(typed(await page('docs/collab.md')), [
      'analyst', '"outbox":{"unsettled":0}', '"documentId": "doc_7"', '"state":"accepted"', '"findings": 5',
      'how far are you?', 'half way', 'analyst did not answer', '"code":"TIMEOUT"', '"state":"accepted"',
      '"not_persisted":true', 'inSeconds', '"state":"answered"', '"value":[1, 2]', '"correlationId":"msg_2"', '"status":"partial"',
    ]);
  });
});

describe('docs/mcp.md', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  it('does what it says', async () => {
    await newcomer.types(typed(await page('docs/mcp.md')), [
      '"supportedVersions":["2026-07-28"]', '"protocolVersion":"2025-06-18"',
    ]);
  });
});

describe('docs/inbox.md', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  // IN-01, IN-02, IN-03, IN-04, IN-09, IN-10, XD-01
  it('does what it says', async () => {
    await newcomer.types(typed(await page('docs/inbox.md')), [
      '"state":"accepted"', '"preview":"Research message buses"', '"threadId"', '"state":"accepted"',
      'ROLE_FORBIDDEN', 'VALIDATION_FAILED', 'research-7: in_progress', 'progress: 60', '"state":"accepted"',
      'reassigned from sam to sue by dan', '"type":"task"', '"state":"accepted"', 'completed', 'translate it',
      '"state":"accepted"', 'response',
    ]);
  });
});

describe('docs/observability.md', () => {
  let newcomer;
  before(async () => { newcomer = await Newcomer.arrive(); });
  after(() => newcomer.leave());

  it('does what it says', async () => {
    await newcomer.types(typed(await page('docs/observability.md')), [
      '1 messages', 'send bo', '├─ queue bo', '└─ process bo', '"operation":"process bo"', '"state":"accepted"',
      'trace 4bf92f3577b34da6a3ce929d0e0e4736', 'send bo', '└─ queue bo',
    ]);
  });
});
