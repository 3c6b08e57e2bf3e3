// SPDX-License-Identifier: Apache-2.0
// One who goes on with its work: sends a message to another, waits for the answer, pauses, again. A
// process of its own, as the bystander is: the attackers keep the other busy for up to a second.
import http from 'node:http';

const [url, token, to, pause] = process.argv.slice(2);
const keep = new http.Agent({ keepAlive: true, maxSockets: 1 });
const found = { sent: 0, refused: 0, waits: [] };
let stop = false;

function send() {
  const body = JSON.stringify({ to, type: 'status', content: `n ${found.sent}` });
  return new Promise((done) => {
    const request = http.request(`${url}/v1/messages`, {
      method: 'POST', agent: keep, headers: { Authorization: `Bearer ${token}`, 'Content-Length': Buffer.byteLength(body) },
    }, (response) => {
      response.resume();
      response.on('error', () => done(undefined));
      response.on('end', () => done(response.statusCode));
    });
    request.on('error', () => done(undefined));
    request.end(body);
  });
}

process.on('message', () => { stop = true; });
while (!stop) {
  const began = performance.now();
  if (await send() === 202) found.sent += 1;
  else found.refused += 1;
  found.waits.push(performance.now() - began);
  await new Promise((done) => { setTimeout(done, Number(pause)); });
}
const waits = found.waits.sort((a, b) => a - b);
process.send({ sent: found.sent, refused: found.refused, middle: waits[Math.floor(waits.length / 2)] ?? 0, p99: waits[Math.floor(waits.length * 0.99)] ?? 0 }, () => process.exit(0));
