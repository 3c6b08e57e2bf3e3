// SPDX-License-Identifier: Apache-2.0
// What the broker answers is what /openapi.json says.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { Broker, message, until } from './harness.mjs';
import { Schemas } from './schema.mjs';

describe('/openapi.json', () => {
  let broker, ana, bo, api, schemas;
  const seen = new Set();
  before(async () => {
    broker = await Broker.start();
    ana = await broker.addAgent('ana', { capabilities: ['plan'] });
    bo = await broker.addAgent('bo');
    const described = await broker.call('GET', '/openapi.json', { token: null });
    assert.equal(described.status, 200);
    api = described.json;
    schemas = new Schemas(api);
  });
  after(() => broker.remove());

  const fits = (schema, value, what) => assert.deepEqual(schemas.faults(schema, value), [], what);

  // Calls an operation by its id and holds request and answer to its description.
  async function call(caller, id, { path = {}, query = '', body, headers, status = '200' } = {}) {
    const [pattern, method] = Object.entries(api.paths)
      .flatMap(([name, methods]) => Object.entries(methods).map(([verb, operation]) => [name, verb, operation]))
      .find(([, , operation]) => operation.operationId === id);
    const operation = api.paths[pattern][method];
    const place = pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
    const known = new Set((operation.parameters ?? []).filter((p) => p.in === 'query').map((p) => p.name));
    for (const [name] of new URLSearchParams(query)) assert.ok(known.has(name), `${id} has no parameter ${name}`);
    if (body !== undefined && Number(status) < 400) fits(operation.requestBody.content['application/json'].schema, body, `the body of ${id}`);
    const answer = await caller.call(method.toUpperCase(), place + (query ? `?${query}` : ''), { body, headers });
    assert.equal(String(answer.status), status, `${id}: ${answer.text}`);
    const type = answer.headers.get('content-type').split(';')[0];
    if (Number(status) < 400) {
      const content = operation.responses[status]?.content;
      assert.ok(content?.[type], `${id} does not say that it answers ${status} with ${type}`);
      fits(content[type].schema, type === 'application/json' ? answer.json : answer.text, `${id}: ${answer.text}`);
    } else {
      assert.equal(type, 'application/problem+json');
      fits(api.components.schemas.Problem, answer.json, answer.text);
      assert.ok(operation['x-errors'].includes(answer.json.code), `${id} does not say that it may answer ${answer.json.code}`);
    }
    seen.add(id);
    return answer.json;
  }

  it('is OpenAPI 3.1 with examples that fit and references that lead somewhere', async () => {
    assert.match(api.openapi, /^3\.1\./);
    assert.equal(api.info.version, (await broker.call('GET', '/v1/health')).json.version);
    assert.equal(api.components.securitySchemes.token.scheme, 'bearer');
    for (const [name, schema] of Object.entries(api.components.schemas)) {
      for (const example of schema.examples ?? []) fits(schema, example, name);
    }
    const walk = (node, root) => {
      if (node === null || typeof node !== 'object') return;
      const inner = node.$id ? node : root;
      if (typeof node.$ref === 'string') schemas.resolve(node.$ref, inner);
      Object.values(node).forEach((part) => walk(part, inner));
    };
    walk(api, api);
    const ids = Object.values(api.paths).flatMap((methods) => Object.values(methods).map((operation) => operation.operationId));
    assert.equal(new Set(ids).size, ids.length);
    for (const [path, methods] of Object.entries(api.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(methods)) {
        const given = (operation.parameters ?? []).filter((p) => p.in === 'path').map((p) => p.name);
        assert.deepEqual(given, named, operation.operationId);
      }
    }
  });

  it('has the published schema of a message', async () => {
    const published = await readFile(new URL('../../schemas/flow/message.schema.json', import.meta.url), 'utf8');
    assert.deepEqual(api.components.schemas.FlowMessage, JSON.parse(published));
  });

  it('tells the truth about messages', async () => {
    const sent = await call(ana, 'send', { body: message('ana', 'bo', { n: 1 }), status: '202' });
    await call(ana, 'send', { body: [message('ana', 'bo', { n: 2 }), message('ana', 'bo', 'text')], status: '202' });
    const again = message('ana', 'bo', { n: 3 });
    await call(ana, 'send', { body: again, status: '202' });
    assert.equal((await call(ana, 'send', { body: again, status: '202' })).duplicate, true);
    await call(ana, 'send', { body: { ...again, payload: { content_type: 'json', body: { n: 4 } } }, status: '409' });
    await call(ana, 'send', { body: '{', status: '400' });
    await call(ana, 'send', { body: { ...message('ana', 'bo', { n: 5 }), type: 'nonsense' }, status: '422' });
    await call(ana, 'send', { body: message('bo', 'ana', { n: 6 }), status: '403' });
    await call(ana, 'send', { body: message('ana', 'bo', { n: 7 }, { type: 'request' }), query: 'wait=1ms', status: '504' });
    await call(bo, 'inbox', { query: 'limit=2&wait=1s' });
    await call(bo, 'inbox', { query: 'limit=many', status: '400' });
    const read = await call(bo, 'readMessage', { path: { id: sent.id }, query: 'dialect=flow' });
    fits(api.components.schemas.FlowMessage, read);
    await call(bo, 'readMessage', { path: { id: '999999' }, status: '404' });
    await call(ana, 'showDelivery', { path: { id: sent.id } });
    await call(bo, 'showDelivery', { path: { id: sent.id }, status: '404' });
    await call(bo, 'extend', { path: { id: sent.id }, body: { lease: '5m' } });
    await call(bo, 'nack', { path: { id: sent.id }, body: { reason: 'busy', retry_after: '1ms' } });
    await call(bo, 'readMessage', { path: { id: sent.id } });
    await call(bo, 'ack', { path: { id: sent.id } });
    await call(bo, 'reject', { path: { id: sent.id }, body: { reason: 'late' }, status: '409' });
    const { notifications } = await call(bo, 'inbox');
    await call(bo, 'readMessage', { path: { id: notifications[0].id } });
    await call(bo, 'reject', { path: { id: notifications[0].id }, body: { reason: 'no' } });
    await call(ana, 'outbox', { query: 'limit=2' });
    await call(ana, 'outbox', { query: 'since=2026-01-01T00:00:00Z&until=2100-01-01T00:00:00Z' });
    await call(ana, 'searchMessages', { query: `thread=${read.conversation_id}&agent=bo` });
    await call(bo, 'searchMessages', { query: 'from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=1' });
    await call(ana, 'searchMessages', { query: 'from=today', status: '400' });
    const asked = call(ana, 'send', { body: message('ana', 'bo', 'why?', { type: 'request' }), query: 'wait=20s' });
    const question = await until(async () => (await bo.inbox('?wait=10s')).json.notifications.find((note) => note.preview === 'why?'));
    await bo.read(question.id);
    await bo.send('ana', 'because', { type: 'response', status: 'success', conversation_id: question.thread, metadata: { in_reply_to: question.id } });
    await asked;
  });

  it('tells the truth about agents, topics and workspaces', async () => {
    await call(broker, 'addAgent', { body: { id: 'cy', dialect: 'flow', capabilities: ['x'], subscriptions: ['task.done'] }, status: '201' });
    await call(broker, 'addAgent', { body: { id: 'cy', capabilities: ['y'] } });
    const hooked = await call(broker, 'addAgent', { body: { id: 'cy', webhook: { url: 'https://example.org/wake' } } });
    assert.match(hooked.webhook_secret, /^whsec_/);
    assert.equal((await call(broker, 'showAgent', { path: { id: 'cy' } })).webhook.state, 'ready');
    await call(broker, 'addAgent', { body: { id: 'cy', webhook: { url: 'http://10.0.0.1/' } }, status: '400' });
    await call(ana, 'addAgent', { body: { id: 'dan' }, status: '403' });
    await call(broker, 'addAgent', { body: { dialect: 'flow' }, status: '400' });
    await call(broker, 'addHuman', { body: { name: 'ada', rights: ['approver'] }, status: '201' });
    await call(ana, 'listAgents', { query: 'capability=plan' });
    await call(ana, 'listAgents');
    await call(ana, 'showAgent', { path: { id: 'human:ada' } });
    await call(ana, 'showAgent', { path: { id: 'nobody' }, status: '404' });
    await call(ana, 'heartbeat', { path: { id: 'ana' }, body: { status: 'busy', currentTask: 'task 42' } });
    await call(ana, 'heartbeat', { path: { id: 'bo' }, body: {}, status: '403' });
    await call(ana, 'markAgentSession', { path: { id: 'ana' }, body: { event: 'start' } });
    await call(ana, 'markAgentSession', { path: { id: 'ana' }, body: { event: 'end' } });
    await call(ana, 'markAgentSession', { path: { id: 'ana' }, body: { event: 'end' }, status: '409' });
    await call(ana, 'markAgentSession', { path: { id: 'bo' }, body: { event: 'end' }, status: '403' });
    await call(broker, 'resetAgent', { path: { id: 'ana' } });
    await call(ana, 'resetAgent', { path: { id: 'bo' }, status: '403' });
    await call(ana, 'showAgent', { path: { id: 'ana' } });
    await call(ana, 'subscribe', { path: { topic: 'task.done' } });
    await call(ana, 'listTopics');
    await call(ana, 'unsubscribe', { path: { topic: 'task.done' } });
    await call(broker, 'removeAgent', { path: { id: 'cy' } });
    await call(ana, 'removeAgent', { path: { id: 'bo' }, status: '403' });
    await call(broker, 'addWorkspace', { body: { name: 'research' }, status: '201' });
    await call(broker, 'listWorkspaces');
    await call(ana, 'listWorkspaces', { status: '403' });
  });

  it('tells the truth about dead letters, rules and operation', async () => {
    await call(ana, 'githubHook', { body: {}, status: '404' });
    for (let n = 0; n < 4; ++n) await ana.send('nobody', { n });
    const { dead_letters: letters } = await call(broker, 'listDeadLetters', { query: 'limit=10&state=pending' });
    await call(ana, 'listDeadLetters', { status: '403' });
    await call(broker, 'showDeadLetter', { path: { id: letters[0].id } });
    await call(broker, 'showDeadLetter', { path: { id: 0 }, status: '404' });
    await call(broker, 'discardDeadLetter', { path: { id: letters[0].id } });
    await call(broker, 'discardDeadLetter', { path: { id: letters[0].id }, status: '409' });
    await call(broker, 'escalateDeadLetter', { path: { id: letters[1].id } });
    const escalated = await call(broker, 'showDeadLetter', { path: { id: letters[1].id } });
    assert.equal(escalated.dead_letter.resolution.status, 'escalated');
    await call(broker, 'retryDeadLetter', { path: { id: letters[2].id }, status: '404' });
    await broker.addAgent('nobody');
    await call(broker, 'retryDeadLetter', { path: { id: letters[2].id } });
    await call(broker, 'showRules');
    await call(broker, 'changeRules', { body: { attempts_max: 7 } });
    await call(broker, 'changeRules', { body: { attemts_max: 7 }, status: '400' });
    await call(ana, 'changeRules', { body: { attempts_max: 8 }, status: '403' });
    await call(broker, 'health');
    await call(ana, 'health');
    await call(broker, 'metrics');
    await call(ana, 'metrics', { status: '403' });
    await call(broker, 'alive');
    await call(broker, 'ready');
    await call(broker, 'describe');
  });

  it('tells the truth about threads, patterns and escalations', async () => {
    const sent = await ana.send('bo', { text: 'hello' });
    await call(ana, 'listThreads', { query: 'agent=ana&limit=5' });
    await call(ana, 'showThread', { path: { id: sent.json.thread } });
    await call(ana, 'showThread', { path: { id: 'nothing' }, status: '404' });
    await call(ana, 'showTrace', { path: { id: sent.json.id } });
    await call(ana, 'showTrace', { path: { id: 'f'.repeat(32) }, status: '404' });
    await call(ana, 'showTrace', { path: { id: 'x' }, status: '404' });
    await call(ana, 'closeThread', { path: { id: sent.json.thread } });
    const ask = { ...message('ana', 'bo', { text: '?' }), type: 'request', response_timeout: '50ms' };
    const body = { receivers: ['bo'], message: ask, strategy: 'any', on_partial: 'fail', timeout: '1m' };
    const { id: scatter } = await call(ana, 'scatter', { body, status: '202' });
    await call(ana, 'scatter', { body: { ...body, strategy: 'most' }, status: '400' });
    await call(ana, 'showScatter', { path: { id: scatter } });
    await call(ana, 'showScatter', { path: { id: '1' }, status: '404' });
    const stages = { stages: ['bo', 'ana'], message: { ...ask, ...message('ana', 'bo', {}), type: 'request' } };
    const { id: pipeline } = await call(ana, 'startPipeline', { body: stages, status: '202' });
    await call(ana, 'startPipeline', { body: { stages: ['bo'] }, status: '400' });
    await call(ana, 'showPipeline', { path: { id: pipeline } });
    await call(ana, 'showPipeline', { path: { id: '1' }, status: '404' });
    // The stage does not answer in time, and the pipeline's end is told.
    for (let ended = false; !ended;) {
      for (const { id } of (await ana.inbox('?wait=10s')).json.notifications) {
        ended ||= (await ana.read(id)).json.payload.body.event === 'pipeline_ended';
        await ana.ack(id);
      }
    }
    await call(ana, 'showPipeline', { path: { id: pipeline } });
    const { escalations } = await call(broker, 'listEscalations', { query: 'state=open&limit=10' });
    await call(broker, 'listEscalations', { query: 'state=none', status: '400' });
    await call(broker, 'showEscalation', { path: { id: escalations[0].id } });
    await call(broker, 'showEscalation', { path: { id: '999999' }, status: '404' });
    await call(ana, 'listDebates', { query: 'state=unresolved&limit=1' });
    await call(ana, 'listDebates', { query: 'state=none', status: '400' });
    await call(ana, 'showDebates', { path: { thread: 'nowhere' }, status: '404' });
    await call(ana, 'listOverdue', { query: 'limit=1' });
    await call(ana, 'listOverdue', { query: 'cursor=x', status: '400' });
    const decision = { resolution: 'seen' };
    await call(ana, 'resolveEscalation', { path: { id: escalations[0].id }, body: decision, status: '403' });
    await call(broker, 'resolveEscalation', { path: { id: escalations[0].id }, body: decision });
    await call(broker, 'resolveEscalation', { path: { id: escalations[0].id }, body: decision, status: '409' });
    await call(broker, 'listEscalations');
  });

  it('tells the truth about approvals', async () => {
    const { json: { token } } = await broker.call('POST', '/v1/humans', { body: { name: 'apo', rights: ['approver'] } });
    const apo = { call: (method, path, options) => broker.call(method, path, { token, ...options }) };
    const body = { summary: 'close it', action: { close: 1 }, rationale: 'old', confidence: 0.5, priority: 'high', approvers: ['human:apo'], needed: 1, timeout: '1h', message_id: 'p1' };
    const { id, digest } = await call(ana, 'askApproval', { body, status: '202' });
    await call(ana, 'askApproval', { body: { ...body, action: 'other' }, status: '409' });
    await call(ana, 'askApproval', { body: { action: 1 }, status: '400' });
    await call(apo, 'listApprovals', { query: 'state=pending&for=me&limit=1&wait=1s' });
    await call(apo, 'listApprovals', { query: 'state=none', status: '400' });
    await call(apo, 'showApproval', { path: { id } });
    await call(bo, 'showApproval', { path: { id }, status: '404' });
    await call(ana, 'decideApproval', { path: { id }, body: { decision: 'approve' }, status: '403' });
    await call(apo, 'decideApproval', { path: { id }, body: { decision: 'perhaps' }, status: '400' });
    await call(apo, 'decideApproval', { path: { id }, body: { decision: 'modify', modification: { label: 1 }, comment: 'less', digest } });
    await call(apo, 'decideApproval', { path: { id }, body: { decision: 'reject' }, status: '409' });
    await call(ana, 'showApproval', { path: { id } });
  });

  it('tells the truth about private flags', async () => {
    const { json: { token } } = await broker.call('POST', '/v1/humans', { body: { name: 'mod', rights: ['moderator'] } });
    const mod = { call: (method, path, options) => broker.call(method, path, { token, ...options }) };
    await call(ana, 'raiseFlag', { body: { flag: { said: 'rude' }, summary: 'rude', message_id: 'f1' }, status: '202' });
    await call(ana, 'raiseFlag', { body: { flag: 'other', message_id: 'f1' }, status: '409' });
    await call(ana, 'raiseFlag', { body: { summary: 'rude' }, status: '400' });
    const { items: [{ id }] } = await call(mod, 'listFlags', { query: 'state=open&limit=1&wait=1s' });
    await call(mod, 'listFlags', { query: 'state=none', status: '400' });
    await call(broker, 'listFlags', { status: '404' });
    await call(mod, 'showFlag', { path: { id } });
    await call(ana, 'showFlag', { path: { id }, status: '404' });
    await call(mod, 'resolveFlag', { path: { id }, body: { resolution: 'seen' } });
    await call(mod, 'resolveFlag', { path: { id }, body: { resolution: 'seen' }, status: '409' });
  });

  it('tells the truth about sessions and locks', async () => {
    const any = { headers: { 'If-Match': '*' } };
    const path = { id: 'sprint' };
    await call(ana, 'startSession', { body: { id: 'sprint', participants: ['bo'], task: { goal: 'ship' } }, status: '201' });
    await call(ana, 'startSession', { body: { id: 'sprint' }, status: '409' });
    await call(bo, 'startSession', { body: { id: 'other', coordinator: 'ana' }, status: '403' });
    const { version } = await call(bo, 'addDecision', { path, body: { decision: 'yes', rationale: 'why not' }, status: '201', ...any });
    await call(bo, 'addArtifact', { path, body: { name: 'plan.md' }, status: '201', headers: { 'If-Match': `"${version}"` } });
    await call(bo, 'addFinding', { path, body: { text: 'slow' }, status: '412', headers: { 'If-Match': `"${version}"` } });
    await call(bo, 'addFinding', { path, body: { text: 'slow' }, status: '428' });
    await call(bo, 'addFinding', { path, body: { text: 'slow' }, status: '201', ...any });
    await call(broker, 'addParticipant', { path, body: { agent: 'admin' }, status: '201', ...any });
    await call(broker, 'removeParticipant', { path: { ...path, agent: 'admin' }, ...any });
    await call(ana, 'send', { body: message('ana', 'bo', { text: 'in it' }), query: 'session=sprint', status: '202' });
    await call(ana, 'send', { body: message('ana', 'admin', { text: 'in it' }), query: 'session=sprint', status: '403' });
    await call(ana, 'setSessionStatus', { path, body: { status: 'paused' }, ...any });
    await call(ana, 'showSession', { path });
    await call(ana, 'setSessionStatus', { path, body: { status: 'failed', summary: 'no time' }, ...any });
    await call(ana, 'setSessionStatus', { path, body: { status: 'active' }, status: '409', ...any });
    await call(ana, 'showSession', { path });
    await call(ana, 'showSession', { path: { id: 'nothing' }, status: '404' });
    await call(bo, 'listSessions', { query: 'status=failed&limit=5' });
    await call(bo, 'listSessions', { query: 'status=none', status: '400' });
    const { fence } = await call(ana, 'takeLock', { path: { name: 'm' }, body: { lease: '30s' } });
    await call(ana, 'takeLock', { path: { name: 'a' }, status: '409' });
    await call(bo, 'takeLock', { path: { name: 'm' }, query: 'wait=10ms', status: '409' });
    await call(bo, 'listLocks', { query: 'limit=5' });
    await call(bo, 'releaseLock', { path: { name: 'm' }, status: '403' });
    await call(ana, 'releaseLock', { path: { name: 'm' }, query: `fence=${fence}` });
    await call(ana, 'releaseLock', { path: { name: 'm' }, status: '404' });
  });

  it('tells the truth about tasks', async () => {
    const dan = await broker.addAgent('dan', { dialect: 'inbox', role: 'director' });
    for (const id of ['sam', 'sue']) await broker.addAgent(id, { dialect: 'inbox', role: 'specialist' });
    await call(dan, 'send', { status: '202', body: { to: 'sam', type: 'task', content: { taskId: 't', title: 'T', description: 'D' } } });
    await call(dan, 'showTask', { path: { taskId: 't' } });
    await call(dan, 'listTasks', { query: 'state=assigned&agent=sam&silent=false' });
    await call(dan, 'reassignTask', { path: { taskId: 't' }, body: { to: 'sue' } });
    await call(dan, 'reassignTask', { path: { taskId: 't' }, body: { to: 'dan' }, status: '403' });
    await call(dan, 'showTask', { path: { taskId: 'u' }, status: '404' });
  });

  // MCP is held to its own descriptions, by the official suite: tests/mcp.
  it('was tried in every operation but those that push and those of MCP', () => {
    const all = Object.values(api.paths).flatMap((methods) => Object.values(methods).map((operation) => operation.operationId));
    assert.deepEqual(all.filter((id) => !seen.has(id)), ['stream', 'socket', 'mcp', 'mcpStream', 'mcpEnd']);
  });
});
