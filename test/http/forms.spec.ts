import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import sharp from 'sharp'
import { joinPieces } from '../../src/bytes/pieces.ts'
import { formPartsSink, type FormPart } from '../../src/http/read-form.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { pixelFile } from '../support/pixel.ts'

const boundary = '----form-0123456789'
const type = `multipart/form-data; boundary=${boundary}`
const png = Buffer.from(await pixelFile.arrayBuffer())
/** More than a text may have. */
const large = await sharp(randomBytes(1024 * 512 * 3), {
  raw: { width: 1024, height: 512, channels: 3 },
})
  .png({ compressionLevel: 0 })
  .toBuffer()

/** The bytes of one part, with `head` after the name of the first header. */
const part = (head: string, value: string | Buffer = 'a') =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])
const end = Buffer.from(`--${boundary}--\r\n`)
const picture = part('name="image"; filename="a.png"', png)
const prompt = part('name="prompt"', 'a fox')

/** Reads a form from these pieces as the gateway does. */
async function readInPieces(pieces: readonly Buffer[]): Promise<FormPart[]> {
  const sink = formPartsSink(type)
  for (const piece of pieces) await sink.take(piece)
  return sink.finish()
}

/** Pairs of a part's name and its content: a text, or the bytes of a file. */
function plainly(parts: readonly FormPart[]): [string, string | Buffer][] {
  return parts.map((one) => [
    one.name,
    'text' in one ? one.text : Buffer.from(joinPieces(one.base64).toString(), 'base64'),
  ])
}

function cut(whole: Buffer, positions: readonly number[]): Buffer[] {
  const ends = positions.map((at) => at % (whole.length + 1)).sort((a, b) => a - b)
  return [...ends, whole.length].map((to, index) => whole.subarray(ends[index - 1] ?? 0, to))
}

describe('a form', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('\r\n', '--', `--${boundary.slice(1)}`, `\r\n--${boundary.slice(0, -1)}`, '語'),
  )
  const field = fc.record({
    name: fc.constantFrom('prompt', 'image[]', '名前', 'a"b', 'a b;c="d"', '__proto__'),
    value: fc.array(text, { maxLength: 5 }).map((all) => all.join('')),
    file: fc.boolean(),
  })
  const cuts = fc.array(fc.nat(), { maxLength: 12 })

  it('is read exactly, however its bytes are split', async () => {
    const fields = fc.array(field, { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fields, cuts, async (all, positions) => {
        const form = new FormData()
        for (const { name, value, file } of all) {
          if (file) form.append(name, new Blob([value]), 'ein "Bild"; 語.png')
          else form.append(name, value)
        }
        const response = new Response(form)
        const [, own = ''] = response.headers.get('content-type')!.split('boundary=')
        const written = Buffer.from(await response.arrayBuffer()).toString('latin1')
        const whole = Buffer.from(written.replaceAll(own, boundary), 'latin1')
        const expected = [...(await new Response(form).formData())].map(async ([name, value]) => [
          name,
          typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()),
        ])
        const read = await readInPieces(cut(whole, positions))
        expect(plainly(read)).to.deep.equal(await Promise.all(expected))
      }),
      { numRuns: 150 },
    )
  })

  it('is read or refused in bounded time, whatever is wrong with it', async () => {
    const wrong = fc.constantFrom('\r\n', '--', `--${boundary}`, '"', ':', '\r\n\r\n', '\u0000')
    const change = fc.record({ at: fc.nat(), less: fc.nat({ max: 40 }), more: wrong })
    const changes = fc.array(change, { minLength: 1, maxLength: 4 })
    const good = Buffer.concat([prompt, picture, part('name="n"', ''), end])
    await fc.assert(
      fc.asyncProperty(changes, fc.nat(), cuts, async (all, length, positions) => {
        let bytes = good.toString('latin1')
        for (const { at, less, more } of all) {
          const place = at % bytes.length
          bytes = bytes.slice(0, place) + more + bytes.slice(place + less)
        }
        const odd = Buffer.from(bytes, 'latin1').subarray(0, length % (bytes.length + 1))
        const outcome = await readInPieces(cut(odd, positions)).catch((error: unknown) => error)
        if (!Array.isArray(outcome)) expect(outcome).to.include({ code: 'invalid_value' })
      }),
      { numRuns: 500 },
    )
  })

  describe('for an edit', () => {
    let gateway: TestGateway
    before(async () => {
      gateway = await startGateway()
    })
    after(() => gateway.stop())

    const post = (parts: readonly Buffer[], contentType = type) =>
      gateway.fetch('/v1/images/edits', {
        method: 'POST',
        body: new Uint8Array(Buffer.concat(parts)),
        headers: { 'content-type': contentType },
      })

    const model = part('name="model"', 'gpt-image-2')
    const good: [string, Buffer[]][] = [
      ['a text before its first part', [Buffer.from('hello\r\n'), prompt, model, picture, end]],
      ['a text after its last part', [prompt, model, picture, end, Buffer.from('hello')]],
      [
        'names without quotes',
        [part('name=prompt'), model, part('filename=a; name=image', png), end],
      ],
      [
        'unusual file names',
        [prompt, model, part(`name="image"; filename="${'ä\\"語'.repeat(200)}"`, png), end],
      ],
      [
        "the other way of writing a file's name",
        [prompt, model, part("name=image; filename*=UTF-8''%E8%AA%9E.png", png), end],
      ],
      [
        'a picture in base64, as old clients send it',
        [
          prompt,
          model,
          part(
            'name="image"; filename="a.png"\r\nContent-Transfer-Encoding: base64',
            png.toString('base64'),
          ),
          end,
        ],
      ],
    ]
    const brief = part('name="prompt"', 'BMW')
    good.push(
      ['a picture without a file name', [prompt, model, part('name="image"', png), end]],
      [
        'a picture with a media type and no file name',
        [prompt, model, part('name="image"\r\nContent-Type: image/png', png), end],
      ],
      ['a large picture without a file name', [prompt, model, part('name="image"', large), end]],
      [
        'pictures that are counted',
        [part('name="image[0]"; filename="a"', png), brief, model, end],
      ],
      ['pictures under the name of the JSON member', [part('name="images[]"', png), brief, end]],
    )
    for (const [what, parts] of good) {
      it(`may have ${what}`, async () => {
        const response = await post(parts)
        expect(response.status, await response.text()).to.equal(200)
      })
    }

    const bad: { what: string; parts: Buffer[]; says: string; param?: string }[] = [
      { what: 'too many parts', parts: Array<Buffer>(65).fill(prompt), says: '64 parts' },
      { what: 'a part without a name', parts: [prompt, part('x="a"')], says: 'no name' },
      {
        what: 'a part without headers',
        parts: [Buffer.from(`--${boundary}\r\n\r\na\r\n`)],
        says: 'no name',
      },
      { what: 'a long name', parts: [part(`name="${'a'.repeat(201)}"`)], says: '200 characters' },
      {
        what: 'too large headers',
        parts: [part(`name="a"; b="${'b'.repeat(200_000)}"; name="c"; filename="d"`, png)],
        says: "'a'",
        param: 'a',
      },
      {
        what: 'a text that is too long',
        parts: [part('name="prompt"', 'a'.repeat(1024 * 1024 + 1))],
        says: 'longer than 1048576 bytes',
        param: 'prompt',
      },
      {
        what: 'a text that is not UTF-8',
        parts: [part('name="prompt"', Buffer.from([0xe9]))],
        says: 'not UTF-8',
        param: 'prompt',
      },
      {
        what: 'another charset',
        parts: [part('name="prompt"\r\nContent-Type: text/plain; charset=utf-16')],
        says: 'charset',
        param: 'prompt',
      },
      {
        what: 'another encoding',
        parts: [part('name="prompt"\r\nContent-Transfer-Encoding: quoted-printable')],
        says: 'Content-Transfer-Encoding',
        param: 'prompt',
      },
      {
        what: 'a repeated field',
        parts: [prompt, prompt, picture],
        says: 'twice',
        param: 'prompt',
      },
    ]
    for (const { what, parts, says, param } of bad) {
      it(`is refused with ${what}`, async () => {
        const answer = await post([...parts, end])
        const expected = { status: 400, code: 'invalid_value' }
        const { message } = await expectError(
          answer,
          param === undefined ? expected : { ...expected, param },
        )
        expect(message).to.include(says)
      })
    }

    it('is refused once, also while the rest of it arrives', async () => {
      const unhandled: unknown[] = []
      const note = (reason: unknown) => unhandled.push(reason)
      process.on('unhandledRejection', note)
      const long = part('name="user"', 'a'.repeat(200_000))
      const answer = await post([...Array<Buffer>(65).fill(prompt), long, long, end])
      await expectError(answer, { status: 400, code: 'invalid_value' })
      await new Promise((resolve) => setTimeout(resolve, 50))
      process.off('unhandledRejection', note)
      expect(unhandled).to.deep.equal([])
    })

    it('is refused when it is cut off, anywhere', async () => {
      const whole = Buffer.concat([prompt, picture, end])
      for (let length = 1; length < whole.length - 4; length += 7) {
        const answer = await post([whole.subarray(0, length)])
        const { message } = await expectError(answer, { status: 400, code: 'invalid_value' })
        expect(message).to.include('cut off')
      }
    })

    it('is refused without its boundary', async () => {
      const answer = await post([prompt, picture, end], 'multipart/form-data')
      const { message } = await expectError(answer, {
        status: 400,
        code: 'invalid_value',
        param: 'content-type',
      })
      expect(message).to.include('boundary')
    })
  })
})
