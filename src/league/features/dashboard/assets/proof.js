// Checks the draw of a match in the page (specification, section 12). Browsers offer crypto.subtle only to pages from
// https or localhost, and leagues are played in plain networks: so SHA-256 (FIPS 180-4) and HMAC (RFC 2104) are here.
"use strict";

const ROUND_CONSTANTS = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
];
const INITIAL_HASH = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const BLOCK = 64;

function rotate(x, by) {
  return (x >>> by) | (x << (32 - by));
}

function padded(bytes) {
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer);
  view.setUint32(whole.length - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(whole.length - 4, (bytes.length * 8) >>> 0);
  return view;
}

function schedule(view, at) {
  const w = new Uint32Array(BLOCK);
  for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < BLOCK; i++) {
    const a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >>> 3);
    const b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >>> 10);
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  return w;
}

function compress(state, w) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < BLOCK; i++) {
    const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[i] + w[i];
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((one, i) => { state[i] += one; });
}

function sha256(bytes) {
  const view = padded(bytes);
  const state = new Uint32Array(INITIAL_HASH);
  for (let at = 0; at < view.byteLength; at += BLOCK) compress(state, schedule(view, at));
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((one, i) => digest.setUint32(4 * i, one));
  return new Uint8Array(digest.buffer);
}

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
  parts.reduce((at, one) => (whole.set(one, at), at + one.length), 0);
  return whole;
}

function hmac(key, message) {
  const block = new Uint8Array(BLOCK);
  block.set(key.length > BLOCK ? sha256(key) : key);
  const inner = block.map((one) => one ^ 0x36);
  const outer = block.map((one) => one ^ 0x5c);
  return sha256(joined(outer, sha256(joined(inner, message))));
}

function toHex(bytes) {
  return [...bytes].map((one) => one.toString(16).padStart(2, "0")).join("");
}

function fromHex(text) {
  return Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
}

// What the seed of a match gives: what was to be promised, and the number. In a shared draw the promise contains the
// manager's, and the number follows from seed and share together.
function drawOf(seedHex, label, shareHex, sharePromise) {
  let seed = fromHex(seedHex);
  const text = new TextEncoder();
  const bound = sharePromise ? `${label}|${sharePromise}` : label;
  const commitment = toHex(sha256(joined(seed, text.encode(bound))));
  if (shareHex) seed = sha256(joined(seed, fromHex(shareHex)));
  for (let i = 0; ; i++) {
    const byte = hmac(seed, text.encode(`${label}|${i}`))[0];
    if (byte < 250) return { commitment, number: (byte % 10) + 1 };
  }
}

function verdictOn(given) {
  const { commitment, number } = drawOf(given.seed, given.label, given.share, given.sharePromise);
  if (number !== Number(given.number)) return [false, `Computed in your browser: the seed gives ${number}, not ${given.number}.`];
  if (given.promised && given.promised !== commitment) return [false, "Computed in your browser: another seed was promised."];
  const promise = given.promised ? "and it is the seed that was promised" : `and its promise must be ${commitment}`;
  return [true, `Computed in your browser: the seed gives ${number}, ${promise}.`];
}

document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("proof");
  if (!place) return;
  const [holds, sentence] = verdictOn(place.dataset);
  place.textContent = sentence;
  place.classList.add(holds ? "holds" : "fails");
});
