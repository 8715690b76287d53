import { tools } from '../../generated/tools.ts'
import { bodyOf, tail, type Answer } from './connection.ts'
import { pictureBase64, pictureModels, plainText, streamWords } from './replies.ts'
import type { Workload } from './workloads.ts'

// Each answer gets a cheap check of status, size and end. The first answers of each connection are
// parsed and compared with the upstream's answer.

export type Expectation = {
  checkQuickly: (answer: Answer) => void
  checkFully: (answer: Answer) => void
}

type ChatReply = { choices: { message: { content: string } }[] }
type ChatChunk = { choices: { delta: { content?: string } }[] }
type PictureReply = { data: { b64_json: string }[] }

type ToolReply = {
  result: { tools?: { name: string }[]; content?: { text?: string; data?: string }[] }
}

export const expectationFor = ({
  name,
  kind,
  model,
}: Pick<Workload, 'name' | 'kind' | 'model'>): Expectation => {
  const content = contentOf(kind, model)
  const end = ends[kind] ?? '}'
  const checkQuickly = (answer: Answer): void => {
    if (answer.status !== 200) refuse(name, `status ${answer.status}`, answer)
    if (answer.bytes < content.length) refuse(name, `only ${answer.bytes} bytes`, answer)
    if (!tail(answer.pieces, 64).includes(end)) refuse(name, 'without its end', answer)
  }
  const checkFully = (answer: Answer): void => {
    checkQuickly(answer)
    if (readers[kind]?.(bodyOf(answer).toString()) !== content)
      refuse(name, 'with other content than the upstream sent', answer)
  }
  return { checkQuickly, checkFully }
}

const ends: Partial<Record<Workload['kind'], string>> = {
  stream: 'data: [DONE]\n\n',
  'vendor-stream': '\n',
  'response-stream': '\n\n',
  'message-stream': '\n\n',
}

const contentOf = (kind: Workload['kind'], model: string): string => {
  if (kind === 'image' || kind === 'edit' || kind === 'tool-image')
    return pictureBase64(pictureModels[model] ?? 0)
  if (kind.startsWith('tool-list')) return tools.map((tool) => tool.name).join(', ')
  if (kind.endsWith('stream')) return streamWords(Number(model.split('-')[1])).join('')
  return plainText
}

const pictureIn = (body: string): string | undefined =>
  // The cast describes a right answer; a wrong one throws or compares unequal.
  (JSON.parse(body) as PictureReply).data[0]?.b64_json

const toolsIn = (body: string): string | undefined =>
  // The cast describes a right answer; a wrong one throws or compares unequal.
  (JSON.parse(body) as ToolReply).result.tools?.map((tool) => tool.name).join(', ')

type ResponseReply = { output: { content: { text: string }[] }[] }
type MessageReply = { content: { text: string }[] }

/** The texts of all events of one kind. */
const deltasIn = <Event>(body: string, textOf: (event: Event) => unknown): string =>
  Array.from(
    body.matchAll(/^data: (.*"(?:response\.output_text\.delta|text_delta)".*)$/gm),
    ([, data]) =>
      // The cast describes a right answer; a wrong one compares unequal.
      textOf(JSON.parse(data!) as Event),
  ).join('')

const readers: Partial<Record<Workload['kind'], (body: string) => string | undefined>> = {
  // The casts describe a right answer; a wrong one throws or compares unequal.
  chat: (body) => (JSON.parse(body) as ChatReply).choices[0]?.message.content,
  'vendor-stream': (body) =>
    Array.from(body.matchAll(/"text":\s?"(word-\d+ )"/g), ([, word]) => word).join(''),
  response: (body) => (JSON.parse(body) as ResponseReply).output[0]?.content[0]?.text,
  message: (body) => (JSON.parse(body) as MessageReply).content[0]?.text,
  'response-stream': (body) => deltasIn(body, ({ delta }: { delta?: string }) => delta),
  'message-stream': (body) =>
    deltasIn(body, ({ delta }: { delta?: { text?: string } }) => delta?.text),
  'tool-list': toolsIn,
  'tool-list-modern': toolsIn,
  // Excludes the last line of the text, which contains model, tokens and cost.
  'tool-chat': (body) =>
    (JSON.parse(body) as ToolReply).result.content?.[0]?.text?.split('\n\n', 1)[0],
  'tool-image': (body) => (JSON.parse(body) as ToolReply).result.content?.[1]?.data,
  image: pictureIn,
  edit: pictureIn,
  stream: (body) =>
    body
      .split('\n\n')
      .filter((event) => event.startsWith('data: {'))
      .map((event) => (JSON.parse(event.slice(6)) as ChatChunk).choices[0]?.delta.content ?? '')
      .join(''),
}

const refuse = (name: string, problem: string, answer: Answer): never => {
  const start = bodyOf(answer).toString('utf8', 0, 400)
  throw new Error(`${name}: an answer came ${problem}. It starts with: ${start}`)
}
