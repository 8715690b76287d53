import { groundingOf } from './gemini-searches.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'
import { allowOnly, Refused, usualCounts, vendorDouble, type Spoken } from './spoken.ts'

type Body = Record<string, unknown>
type Part = Record<string, unknown>

export const geminiKey = 'AIza0123456789abcdef'

const invalid = 'INVALID_ARGUMENT'
const partFields = ['text', 'inlineData', 'functionCall', 'functionResponse', 'thoughtSignature']
const configFields = [
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'candidateCount',
  'responseMimeType',
  'responseJsonSchema',
  'responseLogprobs',
  'logprobs',
  'thinkingConfig',
]
const mediaTypes =
  /^(?:image\/(?:png|jpeg|webp|heic|heif)|application\/pdf|text\/(?:plain|csv|html)|audio\/(?:wav|mp3|aiff|aac|ogg|flac)|video\/mp4)$/
const finishReasons = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
}

/**
 * Simulates Gemini: refuses invalid requests with the vendor's errors, and answers valid ones with `say`.
 * Its thought signatures name the `signer`, and it refuses those of another signer.
 */
export function geminiDouble(
  say: (body: Body) => Spoken,
  signer = 'signed',
): (request: ReceivedRequest) => ScriptedAnswer {
  return vendorDouble({
    check: (request) => check(countedCall(request), signer),
    refusal: ({ status, type, message }) => ({ error: { code: status, message, status: type } }),
    answer: (request) => {
      if (request.path.endsWith(countVerb)) {
        const { generateContentRequest } = request.body as { generateContentRequest: Body }
        return { body: { totalTokens: (say(generateContentRequest).counts ?? usualCounts).input } }
      }
      const spoken = say(request.body as Body)
      const [, model = '', method] = /models\/([^:]+):(\w+)/.exec(request.path)!
      if (method === 'streamGenerateContent') return { pieces: geminiEvents(spoken, model, signer) }
      const parts = [
        ...(spoken.reasoning === undefined
          ? []
          : [{ text: spoken.reasoning.join(''), thought: true }]),
        ...(spoken.text === undefined ? [] : [{ text: spoken.text.join('') }]),
        ...callParts(spoken, signer),
      ]
      return { body: answer(parts, model, spoken, true) }
    },
  })
}

const countVerb = ':countTokens'

/** The call whose input is counted; the request itself if it is a call. */
function countedCall(request: ReceivedRequest): ReceivedRequest {
  const { path, body } = request
  if (!path.endsWith(countVerb)) return request
  allowOnly(body, ['generateContentRequest'], 'Invalid JSON payload received.', invalid)
  const { model, ...counted } = body['generateContentRequest'] as Body
  const called = path.slice(0, -countVerb.length)
  if (!called.endsWith(`/${String(model)}`))
    throw new Refused(400, invalid, 'model must match the path')
  return { ...request, path: `${called}:generateContent`, body: counted }
}

function check({ path, method, headers, body }: ReceivedRequest, signer: string): void {
  const refuse: Refuse = (text) => {
    throw new Refused(400, invalid, text)
  }
  const [, model, verb, query] =
    /^\/v1beta\/models\/([\w.-]+):(generateContent|streamGenerateContent)(\?alt=sse)?$/.exec(
      path,
    ) ?? []
  if (method !== 'POST' || model === undefined) throw new Refused(404, 'NOT_FOUND', path)
  if ((verb === 'streamGenerateContent') !== (query !== undefined)) refuse('alt')
  if (headers['x-goog-api-key'] !== geminiKey) {
    throw new Refused(400, invalid, 'API key not valid. Please pass a valid API key.')
  }
  allowOnly(
    body,
    ['contents', 'systemInstruction', 'generationConfig', 'tools', 'toolConfig'],
    'Invalid JSON payload received. Unknown name',
    invalid,
  )
  const { contents, generationConfig = {}, tools = [] } = body
  allowOnly(generationConfig, configFields, 'generation_config', invalid)
  if (!Array.isArray(contents) || contents.length === 0) refuse('contents is not specified')
  checkContents(contents as Content[], { model, signer }, refuse)
  for (const tool of tools as { functionDeclarations?: Body[]; googleSearch?: Body }[]) {
    allowOnly(tool, ['functionDeclarations', 'googleSearch'], 'tools', invalid)
    if (tool.googleSearch !== undefined) {
      allowOnly(tool.googleSearch, [], 'tools.google_search', invalid)
      if ((tools as Body[]).length > 1) {
        refuse(
          'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.',
        )
      }
    }
    for (const declaration of tool.functionDeclarations ?? []) {
      allowOnly(declaration, ['name', 'description', 'parametersJsonSchema'], 'tools', invalid)
      if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(String(declaration['name']))) {
        refuse('Invalid function name. Must start with a letter or an underscore.')
      }
    }
  }
  const { temperature, candidateCount = 1, responseMimeType } = generationConfig
  checkThinking(generationConfig['thinkingConfig'], model, refuse)
  checkAbilities(generationConfig, model, refuse)
  if (
    responseMimeType !== undefined &&
    (tools as Body[]).length > 0 &&
    model.startsWith('gemini-2')
  ) {
    refuse("Function calling with a response mime type: 'application/json' is unsupported")
  }
  if (Number(temperature ?? 0) > 2) refuse('temperature must be in the range [0.0, 2.0]')
  if (Number(candidateCount) > 8) refuse('candidateCount must be between 1 and 8')
  const system = body['systemInstruction']
  if (system !== undefined) {
    allowOnly(system, ['parts'], 'system_instruction', invalid)
    for (const part of system['parts'] as Part[]) {
      allowOnly(part, ['text'], 'system_instruction.parts', invalid)
    }
  }
  const { toolConfig = {} } = body
  allowOnly(toolConfig, ['functionCallingConfig'], 'tool_config', invalid)
  const { functionCallingConfig: calling } = toolConfig
  if (calling !== undefined) {
    allowOnly(calling, ['mode', 'allowedFunctionNames'], 'tool_config', invalid)
  }
  const last = (contents as { role: string }[]).at(-1)!
  if (last.role === 'model' && /^gemini-(?:3\.5-flash-lite|3\.[6-9]|4)/.test(model)) {
    refuse('The final turn must not be a model turn.')
  }
}

/** Thinking levels of models from generation 3 on, besides `minimal`. */
const levels = ['low', 'medium', 'high']
const withoutMinimal = /pro|3\.[78]-flash|gemini-4/

function checkThinking(config: unknown, model: string, refuse: Refuse): void {
  if (config === undefined) return
  allowOnly(
    config,
    ['includeThoughts', 'thinkingBudget', 'thinkingLevel'],
    'thinking_config',
    invalid,
  )
  const { thinkingBudget: budget, thinkingLevel: level } = config
  if (model.startsWith('gemini-2.5')) {
    if (level !== undefined) refuse('Thinking level is not supported for this model.')
    const least = model === 'gemini-2.5-pro' ? 128 : 0
    if (Number(budget) < least) refuse('The thinking budget is invalid.')
    return
  }
  if (budget !== undefined) refuse('thinking_budget: use thinking_level')
  const accepted = withoutMinimal.test(model) ? levels : ['minimal', ...levels]
  if (!accepted.includes(String(level))) {
    refuse(`Thinking level ${String(level).toUpperCase()} is not supported for this model.`)
  }
}

function checkAbilities(config: Body, model: string, refuse: Refuse): void {
  const old = model.startsWith('gemini-2.5')
  if (!old && Number(config['candidateCount'] ?? 1) > 1) {
    refuse('Multiple candidates is not enabled for this model')
  }
  const penalty = config['presencePenalty'] ?? config['frequencyPenalty']
  if (old && penalty !== undefined) refuse(`Penalty is not enabled for models/${model}`)
  if (config['responseLogprobs'] !== undefined) {
    refuse(`Logprobs is not enabled for models/${model}`)
  }
  if (((config['stopSequences'] ?? []) as string[]).includes('')) {
    refuse('stop_sequences must not contain an empty string')
  }
}

type Refuse = (text: string) => void
/** Accepted instead of a signature. */
const noSignature = 'skip_thought_signature_validator'

type Content = { role: string; parts: Part[] }

function checkContents(
  contents: Content[],
  { model, signer }: { model: string; signer: string },
  refuse: Refuse,
): void {
  let open: string[] = []
  let openIds: (string | undefined)[] = []
  for (const content of contents) {
    allowOnly(content, ['role', 'parts'], 'contents', invalid)
    const { role, parts } = content
    if (role !== 'user' && role !== 'model') refuse('Please use a valid role: user, model.')
    if (parts.length === 0) refuse('contents.parts must not be empty')
    const names = (key: string) =>
      parts.flatMap((part) => (part[key] as { name: string } | undefined)?.name ?? [])
    for (const part of parts) {
      allowOnly(part, partFields, 'contents.parts', invalid)
      checkMedium(part, refuse)
      const { thoughtSignature: signature = noSignature } = part as { thoughtSignature?: string }
      const isOwn = Buffer.from(signature, 'base64').toString().startsWith(`${signer}-`)
      if (!isOwn && signature !== noSignature) refuse('Thought signature is not valid.')
      allowOnly(part['functionCall'] ?? {}, ['id', 'name', 'args'], 'function_call', invalid)
      const response = part['functionResponse'] ?? {}
      allowOnly(response, ['id', 'name', 'response', 'parts'], 'function_response', invalid)
      const shown = (response['parts'] ?? []) as Part[]
      if (shown.length > 0 && !/^gemini-[3-9]/.test(model)) refuse('Multimodal function response')
      for (const one of shown) checkMedium(one, refuse)
    }
    const answers = names('functionResponse')
    if (answers.length !== open.length || answers.some((name, at) => name !== open[at])) {
      refuse('The number of function response parts must equal that of function call parts.')
    }
    open = names('functionCall')
    const ids = parts.flatMap((part) => {
      const named = part['functionCall'] ?? part['functionResponse']
      return named === undefined ? [] : [(named as { id?: string }).id]
    })
    if (ids.some((id) => (id === undefined) === /^gemini-[3-9]/.test(model))) {
      refuse('Function calls and responses must have a matching id.')
    }
    if (answers.length > 0 && ids.join() !== openIds.join()) refuse('Unknown function call id.')
    openIds = ids
    const first = parts.find((part) => part['functionCall'] !== undefined)
    if (first !== undefined && /^gemini-[3-9]/.test(model) && !first['thoughtSignature']) {
      refuse('Function call is missing a thought_signature in functionCall parts.')
    }
  }
}

function checkMedium({ inlineData }: Part, refuse: Refuse): void {
  if (inlineData === undefined) return
  allowOnly(inlineData, ['mimeType', 'data'], 'inline_data', invalid)
  const { mimeType } = inlineData as { mimeType: string }
  if (!mediaTypes.test(mimeType)) refuse('Unsupported MIME type')
}

function callParts({ calls = [] }: Spoken, signer: string): Part[] {
  return calls.map(({ id, name, args }, index) => ({
    functionCall: { id, name, args },
    ...(index === 0 ? { thoughtSignature: Buffer.from(`${signer}-${id}`).toString('base64') } : {}),
  }))
}

function answer(parts: Part[], model: string, spoken: Spoken, last: boolean) {
  const { end = 'stop', counts } = spoken
  const { input, output, cached, reasoning = 0 } = counts ?? usualCounts
  return {
    candidates: [
      {
        content: { parts, role: 'model' },
        ...(last ? { finishReason: finishReasons[end] } : {}),
        ...(last && spoken.searches ? { groundingMetadata: groundingOf(spoken) } : {}),
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: input,
      ...(last ? { candidatesTokenCount: output - reasoning } : {}),
      totalTokenCount: input + output,
      ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
      ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
    },
    modelVersion: model,
    responseId: 'r9Xk',
  }
}

/** Events of a streamed answer, in the vendor's format. */
export function geminiEvents(spoken: Spoken, model: string, signer = 'signed'): string[] {
  const { text = [], reasoning = [] } = spoken
  const parts: Part[] = [
    ...reasoning.map((piece) => ({ text: piece, thought: true })),
    ...text.map((piece) => ({ text: piece })),
    ...callParts(spoken, signer),
  ]
  const events = parts.map((part) => answer([part], model, spoken, false))
  return [...events, answer([{ text: '' }], model, spoken, true)].map(
    (one) => `data: ${JSON.stringify(one)}\r\n\r\n`,
  )
}
