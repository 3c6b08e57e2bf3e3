// SPDX-License-Identifier: Apache-2.0
// The one who must not notice: an agent that looks into its inbox all the time, on one connection of
// its own. A process of its own, because the attacker keeps the other busy and would be measured.
import net from 'node:net';

const pause = 1;  // milliseconds between two looks: a stall is noticed all the same
const [host, port, token] = process.argv.slice(2);
const request = `GET /v1/inbox?limit=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;

let socket;
let got = '';
let wake = () => {};

function connect() {
  got = '';
  socket = net.connect({ host, port, noDelay: true });
  socket.on('data', (bytes) => { got += bytes.toString('latin1'); wake(); });
  socket.on('error', () => {});
  socket.on('close', () => wake());
}

// True when a whole answer is there, and takes it.
function take() {
  const end = got.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const size = Number(/^content-length: (\d+)/mi.exec(got.slice(0, end))?.[1] ?? 0);
  if (got.length < end + 4 + size) return false;
  const status = Number(got.slice(9, 12));
  got = got.slice(end + 4 + size);
  return status;
}

// One look. A connection that is lost is made anew, and the wait goes on: that is what an agent has
// of it. One that waits for `late` milliseconds gives up.
async function look(found, late) {
  const began = performance.now();
  const over = () => performance.now() - began > late;
  for (let lost = false; !over(); lost = true) {
    if (lost) {
      found.lost += 1;
      await new Promise((done) => { setTimeout(done, 10); });
      connect();
    }
    const mine = socket;
    mine.write(request);
    let status = false;
    while (!status && !mine.destroyed && !over()) {
      await new Promise((done) => { wake = done; setTimeout(done, 100); });
      status = take();
    }
    if (status) {
      found.refused += status === 200 ? 0 : 1;
      break;
    }
  }
  found.waits.push(performance.now() - began);
}

let run;
connect();
process.on('message', async (word) => {
  if (word === 'start') {
    run = { stop: false };
    const mine = run;
    const found = { waits: [], lost: 0, refused: 0 };
    await look({ waits: [], lost: 0, refused: 0 }, 5_000);  // the first one finds the way
    process.send('started');
    while (!mine.stop) {
      await look(found, 60_000);
      await new Promise((done) => { setTimeout(done, pause); });
    }
    const waits = found.waits.sort((a, b) => a - b);
    process.send({
      looks: waits.length, lost: found.lost, refused: found.refused,
      p99: waits[Math.floor(waits.length * 0.99)] ?? 0, stall: waits.at(-1) ?? 0,
    });
  } else {
    run.stop = true;
  }
});
