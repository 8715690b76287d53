import { expect } from 'chai'
import fc from 'fast-check'
import { ProviderFailure } from '../../../src/core/failure.ts'
import { parseJson } from '../../../src/providers/transport/upstream.ts'
import { base64Reader, type SplicedJson } from '../../../src/providers/wire/base64-reader.ts'

const key = 'b64_json'
const base64 = fc.base64String({ maxLength: 200 })
/** Any JSON, including JSON with the key as a value or as part of texts and names. */
const other = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.constantFrom(key, `"${key}"`, `"${key}":"`, '@0', '\\', '\u2028', 'é"😀'),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('data', 'prompt', `${key}s`, `x${key}`, 'a:b'), tie('value')),
    fc.record({ [key]: base64, revised_prompt: fc.string() }, { requiredKeys: [key] }),
    fc.record({ [key]: fc.constantFrom(null, 1, true) }),
  ),
})).value
const wire = fc.tuple(other, fc.constantFrom(0, 1, '\t', 3), fc.boolean()).map(format)

/** JSON in the forms of different encoders: compact or indented, with slashes escaped or not. */
function format([value, indent, escapeSlashes]: [unknown, string | number, boolean]): Buffer {
  const text = JSON.stringify({ body: value }, null, indent)
  return Buffer.from(escapeSlashes ? text.replaceAll('/', '\\/') : text)
}

/** Cuts bytes at any positions, including positions in the middle of a character. */
function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const ends = [...positions.map((at) => at % (bytes.length + 1)), bytes.length]
  let start = 0
  return ends
    .sort((a, b) => a - b)
    .map((end) => {
      const piece = bytes.subarray(start, end)
      start = end
      return piece
    })
}

function read(pieces: readonly Buffer[]): SplicedJson {
  const reader = base64Reader(key)
  for (const piece of pieces) reader.push(piece)
  return reader.finish()
}

/** Replaces references by the texts that they refer to. */
function whole({ json, texts }: SplicedJson): unknown {
  const put = (value: unknown, name?: string): unknown => {
    if (name === key && typeof value === 'string') {
      return Buffer.concat(texts[Number(value.slice(1))]!).toString()
    }
    if (Array.isArray(value)) return value.map((inner) => put(inner))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, put(inner, name)]),
    )
  }
  return put(json)
}

function failure(run: () => unknown): ProviderFailure {
  try {
    run()
  } catch (error) {
    if (error instanceof ProviderFailure) return error
    throw error
  }
  throw new Error('It was read.')
}

describe('JSON with pictures inside, in pieces', () => {
  it('equals the result of JSON.parse, wherever it is cut', () => {
    fc.assert(
      fc.property(wire, fc.array(fc.nat(), { maxLength: 12 }), (bytes, positions) => {
        expect(whole(read(cut(bytes, positions)))).to.deep.equal(JSON.parse(bytes.toString()))
      }),
      { numRuns: 2000 },
    )
  })

  it('is the same byte by byte', () => {
    fc.assert(
      fc.property(wire, (bytes) => {
        const every = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
        expect(whole(read(every))).to.deep.equal(JSON.parse(bytes.toString()))
      }),
    )
  })

  it('replaces the texts of pictures before parsing', () => {
    const pictures = ['AAAA'.repeat(100_000), 'BB//'.repeat(50_000)]
    const body = { created: 1, data: pictures.map((text) => ({ [key]: text })) }
    const { json, texts } = read([Buffer.from(JSON.stringify(body))])
    expect(json).to.deep.equal({ created: 1, data: [{ [key]: '@0' }, { [key]: '@1' }] })
    expect(texts.map((pieces) => Buffer.concat(pieces).toString())).to.deep.equal(pictures)
  })

  it('cuts out data URLs of pictures, also under other names, without their heads', () => {
    const url = 'data:image/png;charset=x;base64,QUJD'
    const body = { [key]: url, url, prompt: 'a data:image', data: 'QUJD', [`x${key}`]: 'data: 1' }
    for (const text of [JSON.stringify(body), JSON.stringify(body).replaceAll('/', '\\/')]) {
      const bytes = Buffer.from(text)
      for (const pieces of [[bytes], Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))]) {
        const { json, texts } = read(pieces)
        expect(json).to.deep.equal({ ...body, [key]: '@0', url: '@1' })
        const decoded = texts.map((one) => Buffer.concat(one).toString())
        expect(decoded).to.deep.equal(['QUJD', 'QUJD'])
      }
    }
  })

  it('returns a text as the received bytes, without a copy', () => {
    const bytes = Buffer.from(`{"${key}":"QUJD"}`)
    const [text] = read([bytes]).texts
    expect(text![0]!.buffer).to.equal(bytes.buffer)
  })

  it('has no text if the key has none or is missing', () => {
    for (const text of [
      '{}',
      `{"${key}":null}`,
      `{"a":"${key}"}`,
      `["${key}","x"]`,
      'null',
      '[]',
    ]) {
      const { json, texts } = read([Buffer.from(text)])
      expect(json, text).to.deep.equal(JSON.parse(text))
      expect(texts, text).to.deep.equal([])
    }
  })

  it('is malformed when it is truncated, wherever', () => {
    fc.assert(
      fc.property(wire, fc.nat(), (bytes, at) => {
        const part = bytes.subarray(0, at % bytes.length)
        expect(failure(() => read([part])).kind).to.equal('malformed')
      }),
    )
  })

  for (const text of [
    '',
    'not JSON',
    '<html></html>',
    `{"${key}":"AAAA"}}`,
    `{"${key}":"AA\\q"}`,
  ]) {
    it(`is malformed when it is ${text === '' ? 'empty' : text}`, () => {
      expect(failure(() => read([Buffer.from(text)])).kind).to.equal('malformed')
    })
  }

  it('does not quote bytes that are not JSON', () => {
    const { message } = failure(() => parseJson(Buffer.from('<html>secret</html>')))
    expect(message).to.not.include('secret')
  })
})
