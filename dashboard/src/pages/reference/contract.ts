import type { operations } from '../../../../generated/types.ts'

export type OperationId = keyof operations

/** A JSON schema of the contract; other members than these are rules such as `maxLength`. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  examples?: unknown[]
  deprecated?: boolean
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  contentSchema?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  discriminator?: { mapping: Record<string, string> }
  [rule: string]: unknown
}
type Examples = Record<string, { summary?: string; value: unknown }>
export type Media = { schema: Schema; example?: unknown; examples?: Examples }
export type Content = Record<string, Media>
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  description?: string
  required?: boolean
  schema: Schema
  example?: string | number | boolean
  examples?: Record<string, { value: string }>
}
export type Answer = {
  description: string
  headers?: Record<string, Parameter>
  content?: Content
}
type Written = {
  operationId: string
  tags: string[]
  summary: string
  description: string
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, Answer>
  security?: Record<string, string[]>[]
}
/** An operation of the contract; the gateway sends those that are webhooks, whose path is the event. */
export type Operation = Required<Pick<Written, 'parameters' | 'security'>> &
  Written & { method: string; path: string; isWebhook: boolean; isStreamed: boolean }

type Document = {
  info: { description: string; version: string }
  tags: { name: string; description: string }[]
  'x-tagGroups': { name: string; tags: string[] }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, Written>>
  webhooks: Record<string, Record<string, Written>>
}
export type Contract = Pick<Document, 'info' | 'tags'> & {
  groups: Document['x-tagGroups']
  operations: readonly Operation[]
}

/** The document of the contract that was loaded last, to which references point. */
let loaded: Partial<Document> = {}

const webhookTag = 'Events sent to webhooks'

/** Loads the contract that the gateway serves. */
export async function loadContract(signal: AbortSignal): Promise<Contract> {
  const response = await fetch('/openapi.json', { signal })
  if (!response.ok) throw new Error(`the contract was answered with status ${response.status}`)
  const document = (await response.json()) as Document
  loaded = document
  const read = (entries: Document['paths'], isWebhook: boolean): Operation[] =>
    Object.entries(entries).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security = document.security, ...written }]) => {
        const answers = Object.entries(written.responses)
        const responses = Object.fromEntries(answers.map(([code, one]) => [code, resolve(one)]))
        return {
          ...written,
          ...(isWebhook && { tags: [webhookTag] }),
          ...(written.requestBody && { requestBody: resolve(written.requestBody) }),
          parameters: (written.parameters ?? []).map(resolve),
          security: isWebhook ? [] : security,
          method: isWebhook ? 'EVENT' : method.toUpperCase(),
          path,
          responses,
          isWebhook,
          isStreamed: Object.values(responses).some(
            ({ content = {} }) => 'text/event-stream' in content,
          ),
        }
      }),
    )
  return {
    info: document.info,
    groups: [...document['x-tagGroups'], { name: 'Webhooks', tags: [webhookTag] }],
    tags: document.tags,
    operations: [...read(document.paths, false), ...read(document.webhooks, true)],
  }
}

/** A value with what its reference points to; members beside the reference win. */
export function resolve<T extends object>(value: T): T {
  if (!('$ref' in value)) return value
  const { $ref: reference, ...beside } = value as T & { $ref: string }
  const names = reference.split('/').slice(1)
  const target = names.reduce<unknown>((at, name) => (at as Schema)[name], loaded)
  return { ...resolve(target as T), ...beside }
}

/** Whether an operation can be called with these credentials. */
export const takes = ({ security }: Pick<Operation, 'security'>, scheme: 'bearer' | 'session') =>
  security.some((one) => scheme in one)

/** Operations with all words in name, path, summary or tags; without one, those with the words in their other texts. */
export function searchOperations({ operations }: Contract, text: string) {
  const words = text.toLowerCase().split(/\s+/)
  const finding = (textsOf: (operation: Operation) => readonly string[]) =>
    operations.filter((one) => {
      const all = textsOf(one).join(' ').toLowerCase()
      return words.every((word) => all.includes(word))
    })
  const named = finding(({ operationId, path, summary, tags }) => [
    operationId,
    path,
    summary,
    ...tags,
  ])
  if (named.length > 0) return named
  return finding(({ summary, description, parameters, requestBody }) => [
    summary,
    description,
    ...parameters.map(({ name }) => name),
    ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
      Object.keys(resolve(schema).properties ?? {}),
    ),
  ])
}
