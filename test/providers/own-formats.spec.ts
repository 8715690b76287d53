import { expect } from 'chai'
import type { ChatRequest } from '../../src/core/chat/chat.ts'
import { hasDefaultValue } from '../../src/core/chat/default-values.ts'
import { chatCases, type ChatCase } from '../support/chat-cases.ts'
import { chatVendors, startVendorGateway, type VendorGateway } from '../support/chat-vendors.ts'
import { write } from '../support/chat-wire.ts'

type Refused = { error: { param: string | null; message: string } }

const models = {
  anthropic: [
    'claude-haiku-4-5',
    'claude-opus-4-6',
    'claude-opus-5',
    'claude-sonnet-5-5',
    'claude-opus-5-5',
  ],
  google: ['gemini-2.5-pro', 'gemini-3.5-flash', 'gemini-3.8-flash'],
}
const pairs = Object.entries(models).flatMap(([id, ids]) =>
  ids.map((model) => [id, model] as const),
)

/** Members that need no counterpart: only the gateway reads them, or these formats do not need them. */
const ignored = [
  /^model$/,
  /^stream$/,
  /^stream_options/,
  /\.(?:type|role)$/,
  /\.(?:id|tool_call_id)$/,
  /\.(?:annotations|reasoning_content|refusal|audio\.id)/,
  /^cache_control/,
  // The name of a tool result, which repeats the name in the tool call.
  /^messages\[\d+\]\.name$/,
  /\.json_schema\.(?:name|strict)$/,
]

/** Members of a case that have no effect, since other members repeat or exclude them. */
const withoutEffect: Readonly<Record<string, RegExp>> = {
  'both limits, equal': /^max_/,
  'tools, some allowed': /^tools\[1\]/,
  'tools, some required': /^tools\[1\]/,
}
/** Models that use reasoning only on request. */
const thinksWhenAsked = /^claude-(?:haiku-4-5|opus-4-6)$/

/** The paths of all members of a request, each with the request without that member. */
function* omissions(value: unknown, path = ''): Generator<{ path: string; without: unknown }> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    const put = (other: unknown): unknown =>
      Array.isArray(value)
        ? value.map((one, place) => (place === Number(name) ? other : one) as unknown)
        : { ...value, [name]: other }
    if (!Array.isArray(value)) yield { path: at, without: put(undefined) }
    for (const { path: deeper, without } of omissions(inner, at)) {
      yield { path: deeper, without: put(without) }
    }
  }
}

/** Paths of a case that are neither in the vendor's request nor in a warning or a problem. */
function lostWithoutWarning({ name, request }: ChatCase, model: string): string[] {
  const members = request as Partial<ChatRequest>
  const { body, warnings, problems } = write({ model, request: members })
  if (problems.length > 0) return []
  const warned = warnings.map(({ param }) => param)
  const wire = JSON.stringify(body)
  return [...omissions(request)].flatMap(({ path, without }) => {
    const value = path
      .split(/[.[\]]+/)
      .filter(Boolean)
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], request)
    if (value === '' || withoutEffect[name]?.test(path) === true) return []
    if (value === 'none' && path === 'reasoning_effort' && thinksWhenAsked.test(model)) return []
    if (hasDefaultValue(path, value) || ignored.some((one) => one.test(path))) return []
    if (warned.some((param) => path.startsWith(param) || param.startsWith(path))) return []
    let rest: string
    try {
      rest = JSON.stringify(write({ model, request: without as Partial<ChatRequest> }).body)
    } catch {
      // Ignores the member, because the request is invalid without it.
      return []
    }
    return rest === wire ? [path] : []
  })
}

describe("the chat requests of OpenAI's clients", () => {
  let house: VendorGateway
  before(async () => (house = await startVendorGateway()))
  after(() => house.stop())

  for (const [id, model] of pairs) {
    it(`reach ${model} in a valid form, or are refused with the parameter`, async () => {
      const { double } = chatVendors.find((one) => one.id === id)!
      const violations: string[] = []
      for (const { name, request } of chatCases) {
        house.upstreams[id as 'google'].answer(double(() => ({ text: ['Hi'] })))
        const response = await house.gateway.post(
          '/v1/chat/completions',
          { ...request, model },
          {
            key: house.gateway.liveKey,
          },
        )
        const text = await response.text()
        if (response.status === 200) continue
        const { error } = JSON.parse(text) as Refused
        const attempts = response.headers.get('x-gateway-attempts')
        if (response.status === 400 && error.param !== null && attempts === null) continue
        violations.push(`${name}: ${response.status} ${text}`)
      }
      expect(violations).to.deep.equal([])
    })

    it(`lose nothing without a warning on their way to ${model}`, () => {
      const lost = chatCases.flatMap((one) =>
        lostWithoutWarning(one, model).map((path) => `${one.name}: ${path}`),
      )
      expect(lost).to.deep.equal([])
    })
  }
})
