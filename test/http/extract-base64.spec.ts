import { expect } from 'chai'
import { uncounted } from '../../src/bytes/memory-budget.ts'
import fc from 'fast-check'
import { joinPieces } from '../../src/bytes/pieces.ts'
import { restoreBase64 } from '../../src/core/chat/read-chat.ts'
import { extractBase64 } from '../../src/http/read-body.ts'
import { parseBody } from '../../src/http/parse-json.ts'

const long = (fill: number) => Buffer.alloc(15_000, fill).toString('base64')
/** Data URLs, and texts that look like data URLs. */
const url = fc
  .tuple(
    fc.constantFrom('data:image/png;base64,', 'data:image/jpeg;base64,'),
    fc.constantFrom('data:image/svg+xml;base64,', 'DATA:IMAGE/PNG;base64,', 'data:,', ''),
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom(long(0), long(1), `${long(2)}AA==`, 'AA=='),
    fc.constantFrom(
      '',
      '',
      '',
      '',
      '',
      '',
      '=',
      '-_AA',
      ' AAA',
      '\n',
      '"',
      '\\',
      '😀',
      '\u0000',
      '","url":"',
    ),
  )
  .map(([usual, odd, choice, text, end]) => (choice === 0 ? odd : usual) + text + end)
const name = fc.constantFrom('url', 'image_url', 'x"url', 'prompt', '__proto__', '"url":"', long(0))
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    url,
    fc.string({ unit: 'binary' }),
    fc.constantFrom(null, 1, true, '"data:image/', '"url":"data:image/png;base64,'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
    fc.record({ image_url: url }),
    fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url }) }),
  ),
})).value

/** JSON of different encoders: compact or spaced, with escaped slashes or other characters. */
const written = fc
  .tuple(
    json,
    fc.array(fc.record({ image_url: url }), { maxLength: 3 }),
    fc.constantFrom(0, 1, '\t'),
    fc.constantFrom(0, 0, 0, 1, 2),
  )
  .map(([value, images, indent, escapes]) => {
    const text = JSON.stringify({ body: value, images }, null, indent)
    if (escapes === 1) return text.replaceAll('/', '\\/')
    return escapes === 2 ? text.replaceAll('A', '\\u0041') : text
  })
const cuts = fc.array(fc.nat(), { maxLength: 12 })

/** Cuts bytes at any positions. */
function cut(whole: Buffer, positions: readonly number[]): Buffer[] {
  const ends = positions.map((at) => at % (whole.length + 1)).sort((a, b) => a - b)
  return [...ends, whole.length].map((end, index) => whole.subarray(ends[index - 1] ?? 0, end))
}

/** The parsed body, or the error that parsing throws. */
function outcome(read: () => unknown): unknown {
  try {
    return { value: read() }
  } catch (error) {
    return { message: (error as Error).message }
  }
}

function readLight(pieces: readonly Buffer[]): unknown {
  const light = extractBase64(pieces)
  const whole = () => joinPieces(pieces)
  return restoreBase64(parseBody(joinPieces(light.pieces), whole), light.texts, uncounted)
}

describe('a JSON body whose pictures are extracted', () => {
  it('has the same content as when it is parsed whole', () => {
    fc.assert(
      fc.property(written, cuts, (text, positions) => {
        const whole = Buffer.from(text)
        expect(readLight(cut(whole, positions))).to.deep.equal(JSON.parse(text))
      }),
      { numRuns: 400 },
    )
  })

  it('is refused with the same error as when it is parsed whole', () => {
    const wrong = fc.constantFrom('"', '\\', '\n', '\u0000', ',', '}', ':', '§', '"data:image/')
    fc.assert(
      fc.property(written, fc.nat(), wrong, cuts, (text, position, inserted, positions) => {
        const at = position % text.length
        const whole = Buffer.from(text.slice(0, at) + inserted + text.slice(at))
        const light = outcome(() => readLight(cut(whole, positions)))
        expect(light).to.deep.equal(outcome(() => parseBody(whole)))
      }),
      { numRuns: 400 },
    )
    const cutOff = Buffer.from(`{"image_url":"data:image/png;base64,${long(0)}"}`)
    for (let length = 1; length < cutOff.length; length += 997) {
      const whole = cutOff.subarray(0, length)
      expect(outcome(() => readLight([whole]))).to.deep.equal(outcome(() => parseBody(whole)))
    }
  })

  const picture = `data:image/png;base64,${long(0)}`
  const leftOut = (text: string) => [...extractBase64([Buffer.from(text)]).texts.values()]

  it('omits every large picture without copying its bytes', () => {
    const body = Buffer.from(
      JSON.stringify(
        { images: [{ image_url: picture }, { image_url: { url: picture } }] },
        null,
        2,
      ),
    )
    const { pieces, texts } = extractBase64([body])
    expect(joinPieces(pieces).length).to.be.lessThan(400)
    expect([...texts.values()].map((text) => joinPieces(text).toString())).to.deep.equal([
      long(0),
      long(0),
    ])
    for (const text of texts.values()) expect(text[0]!.buffer).to.equal(body.buffer)
  })

  const kept = [
    ['of another member', JSON.stringify({ prompt: picture })],
    ['that is the name of a member', JSON.stringify({ url: { [picture]: 1 } })],
    ['within a text', JSON.stringify({ text: JSON.stringify({ url: picture }) })],
    ['that is small', JSON.stringify({ url: 'data:image/png;base64,AAAA' })],
    ['of the URL-safe alphabet', JSON.stringify({ url: picture.replace('AAAA', 'AA-_') })],
    ['with line breaks', JSON.stringify({ url: picture.replace('AAAA', 'AAAA\n') })],
    ['with escapes', JSON.stringify({ url: picture }).replaceAll('A', '\\u0041')],
    ['without padding', JSON.stringify({ url: `${picture}AA` })],
  ] as const
  for (const [what, text] of kept) {
    it(`keeps a picture ${what}`, () => {
      expect(leftOut(text)).to.deep.equal([])
    })
  }

  it('has unpredictable placeholders', () => {
    const text = JSON.stringify({ url: picture })
    const tickets = [text, text].flatMap((one) => [
      ...extractBase64([Buffer.from(one)]).texts.keys(),
    ])
    expect(new Set(tickets).size).to.equal(2)
    const [forged] = tickets
    const images = [picture, `data:image/png;base64,${forged}`, forged!]
    const body = { images: images.map((url) => ({ url })) }
    expect(readLight([Buffer.from(JSON.stringify(body))])).to.deep.equal(body)
  })

  it('is parsed in linear time when it only looks like pictures', () => {
    const text = '"url":"data:image/png;base64,A",'.repeat(1_000_000)
    const body = cut(
      Buffer.from(text),
      Array.from({ length: 500 }, (_, index) => index * 65_536),
    )
    // Quadratic time over a million candidates would exceed the timeout of the test.
    expect(extractBase64(body).texts.size).to.equal(0)
  })
})
