import { expect } from 'chai'
import fc from 'fast-check'
import { plainWords } from '../../../src/providers/transport/plain-words.ts'
import { createVendorTexts } from '../../../src/providers/transport/vendor-texts.ts'
import { cpuMs } from '../../support/cpu-time.ts'

const rows: [string, string][] = [
  ['Bad top_p.', 'Bad top_p.'],
  ['  Bad\n\ttop_p.\u0000 ', 'Bad top_p.'],
  ['Use 0 <= top_p < 1 and/or temperature.', 'Use 0 <= top_p < 1 and/or temperature.'],
  ['messages[0].content/type must be a string', 'messages[0].content/type must be a string'],
  [
    'image/png is not taken, version 1.2.3 neither.',
    'image/png is not taken, version 1.2.3 neither.',
  ],
  ['No route for POST /v1/chat/completions.', 'No route for POST /v1/chat/completions.'],
  [
    'See https://platform.openai.com/docs/guides?utm=1#x.',
    'See https://platform.openai.com/docs/guides.',
  ],
  [
    'Cannot fetch https://example.com/cat.png?sig=abc.',
    'Cannot fetch https://example.com/cat.png.',
  ],
  ['Down: http://10.0.0.7:8000/v1/chat', 'Down: [address]'],
  ['Down: https://user:pass@example.com/', 'Down: [address]'],
  ['Down: https://vllm.default.svc.cluster.local/v1', 'Down: [address]'],
  ['Down: https://llm.example.com:8443/v1', 'Down: [address]'],
  ['connect ECONNREFUSED 127.0.0.1:11434', 'connect ECONNREFUSED [address]'],
  ['connect ECONNREFUSED localhost:11434', 'connect ECONNREFUSED [address]'],
  ['worker gpu-3.corp.internal failed', 'worker [address] failed'],
  ['upstream llm.example.com:8000 failed', 'upstream [address] failed'],
  ['No such file: /opt/models/llama/config.json', 'No such file: [path]'],
  ['No such file: C:\\Users\\me\\model.gguf', 'No such file: [path]'],
  [
    'Incorrect API key provided: sk-proj-0123456789abcdef.',
    'Incorrect API key provided: [removed].',
  ],
  ['Wrong: sk-proj-****. You can find yours there.', 'Wrong: [removed]. You can find yours there.'],
  ['Wrong: eyJhbGciOiJIUzI1NiJ9.e30.c2ln. Sign in.', 'Wrong: [removed]. Sign in.'],
  ['Header: Bearer abcdefgh12345678', 'Header: [removed]'],
  ['Header: Bearer abcdefgh.12345678. Try again.', 'Header: [removed]. Try again.'],
  ['api_key=abcdefgh12345678 is wrong', '[removed] is wrong'],
  ['password: a.long.one. Try again.', '[removed]. Try again.'],
  ['Key AIzaSyA0123456789012345678901 is wrong', 'Key [removed] is wrong'],
  ['in organization org-AbC123dEf456 on tokens', 'in organization [removed] on tokens'],
  ['Bad value.\nTraceback (most recent call last):\n  File "/usr/lib/x.py", line 3', 'Bad value.'],
  ['Bad value.\n    at parse (/srv/app/index.js:3:1)', 'Bad value.'],
  ['<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>', '502 Bad Gateway'],
  ['<html><body><h1 class="x">Not &lt;here&gt;</h1></body></html>', 'Not <here>'],
  ['<html><body>secret</body></html>', ''],
]

describe("a vendor's message, cleaned for callers", () => {
  for (const [words, plain] of rows) {
    it(`are ${plain || 'nothing'} of ${JSON.stringify(words)}`, () => {
      expect(plainWords(words)).to.equal(plain)
    })
  }

  it('are one line without control characters, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (words) => {
        // oxlint-disable-next-line no-control-regex
        expect(plainWords(words)).to.not.match(/[\u0000-\u001f\u007f-\u009f]|^\s|\s$/)
      }),
    )
  })

  it('never contain a private address, wherever it is', () => {
    const inside = fc.constantFrom(
      '10.1.2.3',
      '192.168.0.9',
      'db.internal',
      'localhost',
      'a.b.local',
    )
    const around = fc.constantFrom(' ', '(', '"', "'", ',', ': ', '=')
    const port = fc.constantFrom('', ':80', ':8000')
    fc.assert(
      fc.property(inside, around, port, (name, before, end) => {
        expect(plainWords(`It failed${before}${name}${end} there.`)).to.not.contain(name)
        expect(plainWords(`It failed${before}http://${name}${end}/v1/x there.`)).to.not.contain(
          name,
        )
      }),
    )
  })

  for (const words of [
    '/'.repeat(60_000),
    'a.'.repeat(30_000),
    '/a'.repeat(30_000),
    '<h1'.repeat(20_000),
  ]) {
    it(`are cleaned quickly, even of ${words.slice(0, 6)}…`, () => {
      expect(cpuMs(() => plainWords(words))).to.be.lessThan(500)
    })
  }
})

describe("a vendor's texts of any length", () => {
  const { words, members } = createVendorTexts([
    'a-Key.of_a+vendor/0123456789',
    'another-key-0123456789',
  ])
  const parts = [
    'a',
    ' ',
    '-',
    'sk-',
    'org-',
    'eyJ-',
    'a.',
    'a@',
    '/a',
    'secret ',
    '...',
    '\\u0073',
  ]

  for (const part of parts) {
    it(`are cleaned quickly, of ${JSON.stringify(part)}`, () => {
      const text = part.repeat(65_536 / part.length)
      const texts = Array.from({ length: 100 }, (_, at) => text.slice(at))
      const ms = cpuMs(() => {
        words(text)
        members({ text, texts }, new Set())
      })
      expect(ms).to.be.below(2000)
    })
  }
})
