import type { FailureKind } from '../../src/core/failure.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

/** JSON that does not match any vendor's answer. */
const otherShapes = [
  null,
  5,
  [],
  { data: 'x' },
  { data: [null] },
  { data: [{ url: 5 }] },
  { data: [{ b64_json: 5 }] },
  { candidates: [null] },
  { candidates: [{ content: { parts: [null] } }] },
  { output: null },
  { output: { choices: [{ message: { content: 'x' } }] } },
  { output: { choices: [{ message: { content: [{ image: 5 }] } }] } },
]

/** Transport failures that any server can cause. */
export const transportFaults: { name: string; script: ScriptedAnswer; kind: FailureKind }[] = [
  { name: 'breaks the connection', script: { reset: 'before' }, kind: 'unreachable' },
  {
    name: 'breaks off in its answer',
    script: { body: '{"data":[{"b64_json":"iVBOR', reset: 'after' },
    kind: 'unreachable',
  },
  {
    name: 'announces more bytes than it sends',
    script: { headers: { 'content-length': '4096' }, body: '{"data":[', reset: 'after' },
    kind: 'unreachable',
  },
  { name: 'answers half a JSON', script: { body: '{"data":[{"b64_json":"iV' }, kind: 'malformed' },
  { name: 'answers a web page', script: { body: '<html>Welcome</html>' }, kind: 'malformed' },
  { name: 'answers nothing', script: { body: '' }, kind: 'malformed' },
  { name: 'answers an empty object', script: { body: {} }, kind: 'malformed' },
  ...otherShapes.map((body) => ({
    name: `answers ${JSON.stringify(body)}`,
    script: { body: JSON.stringify(body) },
    kind: 'malformed' as const,
  })),
  { name: 'says nothing', script: { hang: true }, kind: 'timeout' },
  {
    name: 'answers a web page with a status',
    script: { status: 502, body: '<html>Bad gateway</html>' },
    kind: 'overloaded',
  },
]
