import { expect } from 'chai'
import fc from 'fast-check'
import { checkJsonBounds, parseBody } from '../../src/http/parse-json.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

const path = '/v1/chat/completions'
const valuesMax = 250_000
const messages = [{ role: 'user', content: 'hello' }]

/** The number of values in parsed JSON: the root, and each member and item at any depth. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, one) => sum + valuesOf(one), 1)
}

/** Whether JSON is within the bounds. */
function passes(text: string, most: number): boolean {
  try {
    checkJsonBounds(Buffer.from(text), most)
    return true
  } catch {
    return false
  }
}

describe('the bounds of a JSON body', () => {
  const json = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' })
  const odd = fc.constantFrom('"', '\\', '\\"', ',', '[', '{"a":[1,2]}', `${'\\'.repeat(70)}"`)
  const long = fc.array(odd, { maxLength: 60 }).map((parts) => parts.join(''))

  it('count every member and item, and ignore the content of strings', () => {
    const value = fc.oneof(json, fc.record({ a: long, b: fc.array(fc.tuple(json, long)) }))
    fc.assert(
      fc.property(value, (one) => {
        const text = JSON.stringify(one)
        const count = valuesOf(JSON.parse(text))
        expect(passes(text, count)).to.equal(true)
        if (count > 1) expect(passes(text, count - 1)).to.equal(false)
      }),
      { numRuns: 400 },
    )
  })

  it('detect exactly the numbers that are out of range', () => {
    const number = fc.oneof(
      fc.double().map(String),
      fc.tuple(fc.nat(), fc.integer({ min: -420, max: 420 })).map(([n, e]) => `${n}e${e}`),
      fc
        .tuple(fc.integer({ min: 1, max: 400 }), fc.constantFrom('', 'E+9', 'e99'))
        .map(([digits, end]) => `-${'9'.repeat(digits)}${end}`),
    )
    fc.assert(
      fc.property(number, (text) => {
        if (!/^[-\d]/.test(text) || text === '-Infinity') return
        const overflows = checkJsonBounds(Buffer.from(`[${text}]`), 10)
        expect(overflows).to.equal(!Number.isFinite(Number(text)))
      }),
    )
  })

  it('count distinct member names once', () => {
    const named = (count: number, value = '0') =>
      Array.from({ length: count }, (_, at) => `"n${at}" : ${value}`).join(',')
    const twice = (count: number) => `[{${named(count)}},{${named(count)}},"a",["b"]]`
    expect(passes(twice(20_000), 1e6)).to.equal(true)
    expect(passes(twice(20_001), 1e6)).to.equal(false)
    const long = `"${'a'.repeat(70)}":0`
    expect(passes(`{${Array<string>(20_001).fill(long).join(',')}}`, 1e6)).to.equal(false)
  })

  it('terminate for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(() => checkJsonBounds(Buffer.from(bytes), 1e6)).not.to.throw()
      }),
    )
    for (const text of ['"', '"\\', '"\\"', '[1e', '1e400e', '"a\\\\"'.repeat(9)]) {
      expect(passes(text, 1e6)).to.equal(true)
    }
  })

  describe('at the endpoints', () => {
    let gateway: TestGateway
    before(async () => {
      gateway = await startGateway()
    })
    after(() => gateway.stop())

    const own = valuesOf({ model: 'gpt-5-mini', messages, unknown: [] })
    const ask = (count: number) =>
      gateway.post(path, {
        model: 'gpt-5-mini',
        messages,
        unknown: Array.from({ length: count }, () => 0),
      })

    it('refuse one value more than allowed, with the bound', async () => {
      const good = await ask(valuesMax - own)
      expect(good.status, await good.text()).to.equal(200)
      const { message } = await expectError(await ask(valuesMax - own + 1), {
        status: 413,
        code: 'request_too_large',
      })
      expect(message).to.include(`more than ${valuesMax} values`)
    })

    it('apply to messages to the tool server', async () => {
      const message = {
        jsonrpc: '2.0',
        id: 1,
        method: 'ping',
        params: { list: Array(valuesMax).fill(0) },
      }
      const response = await gateway.post('/mcp', message)
      expect(await response.text()).to.include(`more than ${valuesMax} values`)
      expect(response.status).to.equal(413)
    })

    const places: [string, string][] = [
      ['"temperature":1e400', 'temperature'],
      ['"metadata":{"a":[0,{"b":-1e999}]}', 'metadata.a[1].b'],
      [`"top_k":${'9'.repeat(400)}`, 'top_k'],
    ]
    for (const [member, param] of places) {
      it(`refuse a number out of range with its path: ${param}`, async () => {
        const body = `{"model":"gpt-5-mini","messages":${JSON.stringify(messages)},${member}}`
        const answer = await gateway.post(path, null, { body })
        const { message } = await expectError(answer, { status: 400, code: 'invalid_value', param })
        expect(message).to.include('out of range')
      })
    }

    it('accept numbers that a double rounds', async () => {
      const rounded = '"metadata":{"a":-0,"b":1e-400,"c":18446744073709551615,"d":1.7e308}'
      const body = `{"model":"gpt-5-mini","messages":${JSON.stringify(messages)},${rounded}}`
      expect((await gateway.post(path, null, { body })).status).to.equal(200)
    })
  })

  it('ignore a number out of range that a later member of the same name replaces', () => {
    expect(parseBody(Buffer.from('{"a":1e400,"a":1}'))).to.deep.equal({ a: 1 })
  })
})
