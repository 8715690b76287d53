import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import { readEvents } from './event-stream.ts'

/**
 * Requirements on OpenAI's streams of pictures, typed in on 2026-11-28. Source: github.com/openai/openai-node 7.55.0,
 * src/resources/images.ts: `ImageGenPartialImageEvent`, `ImageGenCompletedEvent`, `ImageEditPartialImageEvent`,
 * `ImageEditCompletedEvent`, whose members are all required. Other members are allowed.
 */
const count = { type: 'integer', minimum: 0 }
const shown = {
  b64_json: { type: 'string', minLength: 1 },
  created_at: count,
  size: { type: 'string', pattern: '^\\d+x\\d+$' },
  quality: { enum: ['low', 'medium', 'high', 'xhigh', 'max', 'auto'] },
  background: { enum: ['transparent', 'opaque', 'auto'] },
  // OpenAI does not stream SVG.
  output_format: { enum: ['png', 'webp', 'jpeg', 'svg'] },
}
const usage = object({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_tokens_details: object({ image_tokens: count, text_tokens: count }),
})
const failure = object({
  error: object({
    message: { type: 'string', minLength: 1 },
    type: { type: 'string' },
    param: { type: ['string', 'null'] },
    code: { type: ['string', 'null'] },
  }),
})

function object(required: Record<string, AnySchema>) {
  return { type: 'object', required: Object.keys(required), properties: required }
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
const checks = {
  partial_image: ajv.compile(object({ ...shown, partial_image_index: { ...count, maximum: 2 } })),
  completed: ajv.compile(object({ ...shown, usage })),
  error: ajv.compile(failure),
}

const kinds: Readonly<Record<string, string>> = {
  '/v1/images/generations': 'image_generation',
  '/v1/images/edits': 'image_edit',
}

/** Violations of OpenAI's API in a stream of pictures. */
export function imageStreamComplaints(path: string, body: string): string[] {
  const found: string[] = []
  let last = ''
  for (const { name = 'message', data } of readEvents(body)) {
    if (data === undefined) continue
    const event = JSON.parse(data) as { type?: string }
    const [kind, type = ''] = name.split('.')
    const check = name === 'error' ? checks.error : checks[type as keyof typeof checks]
    if (name !== 'error' && kind !== kinds[path]) found.push(`OpenAI has no event '${name}' here.`)
    if (event.type !== name) found.push(`An event '${name}' has the type '${event.type}'.`)
    if (check === undefined || !check(event))
      found.push(...(check?.errors ?? []).map((one) => `${one.instancePath} ${one.message}`))
    if (last === 'error') found.push('The stream goes on after an error.')
    last = name === 'error' ? name : type
  }
  // A stream that a test aborts ends with any event.
  if (/^(?:id|retry):|\r|^\uFEFF/m.test(body)) found.push('A line is not in the format of OpenAI.')
  return found
}
