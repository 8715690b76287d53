import fc from 'fast-check'
import { operation, resolve } from '../../test/support/contract.ts'
import { pixelFile } from '../../test/support/pixel.ts'
import { dictionary } from './dictionary.ts'

const boundary = 'attack-8f1d'
const picture = Buffer.from(await pixelFile.arrayBuffer())
const form = resolve(
  operation('createImageEdit').requestBody!.content['multipart/form-data']!.schema,
)
const fields = [...Object.keys(form.properties ?? {}), ...dictionary.fieldNames]

type Part = { head: string; content: Buffer }

const text = fc.oneof(
  fc.constantFrom(...dictionary.fieldValues),
  fc.string({ unit: 'binary', maxLength: 30 }),
)
const fileName = fc.constantFrom(...dictionary.fileNames, `${'x'.repeat(2000)}.png`)
const content = fc.oneof(
  { weight: 4, arbitrary: fc.constant(picture) },
  { weight: 1, arbitrary: fc.nat(picture.length).map((end) => picture.subarray(0, end)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('<svg/>', 'GIF89a', '').map((bytes) => Buffer.from(bytes)),
  },
)
const file: fc.Arbitrary<Part> = fc
  .tuple(
    fc.constantFrom('image', 'image', 'image[]', 'prompt', 'mask'),
    fileName,
    fc.constantFrom('image/png', 'text/html', 'application/octet-stream', ''),
    content,
  )
  .map(([name, named, type, bytes]) => ({
    head: `form-data; name="${name}"; filename="${named}"\r\ncontent-type: ${type}`,
    content: bytes,
  }))
const field: fc.Arbitrary<Part> = fc
  .tuple(fc.constantFrom(...fields), text)
  .map(([name, value]) => ({ head: `form-data; name="${name}"`, content: Buffer.from(value) }))
const oddHead = fc
  .constantFrom(...dictionary.dispositions, `form-data; name=${'x'.repeat(9000)}`)
  .map((head) => ({ head, content: Buffer.from('x') }))
const prompt: Part = { head: 'form-data; name="prompt"', content: Buffer.from('A fox') }
const parts = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: file },
      { weight: 4, arbitrary: field },
      { weight: 1, arbitrary: oddHead },
    ),
    { maxLength: 6 },
  )
  .chain((some) => fc.constantFrom([prompt, ...some], [...some, prompt], some))

/** Multipart bodies of an image edit, with valid and invalid fields, files and framing. */
export const formBody: fc.Arbitrary<{ bytes: Buffer; type: string | undefined }> = fc
  .record({
    parts,
    end: fc.constantFrom('--\r\n', '--\r\n', '--\r\n', '--', '', '\r\n', '--\r\nmore'),
    lineEnd: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n'),
    type: fc.constantFrom(
      ...Array<string>(6).fill(`multipart/form-data; boundary=${boundary}`),
      `multipart/form-data; boundary="${boundary}"; charset=utf-8`,
      `multipart/form-data; boundary=other`,
      `multipart/mixed; boundary=${boundary}`,
    ),
    cut: fc.option(fc.nat(600), { freq: 10 }),
  })
  .map(({ parts: all, end, lineEnd, type, cut }) => {
    const pieces = all.flatMap(({ head, content: bytes }) => [
      Buffer.from(`--${boundary}${lineEnd}content-disposition: ${head}${lineEnd}${lineEnd}`),
      bytes,
      Buffer.from(lineEnd),
    ])
    const bytes = Buffer.concat([...pieces, Buffer.from(`--${boundary}${end}`)])
    return { bytes: cut === null ? bytes : bytes.subarray(0, cut), type }
  })
