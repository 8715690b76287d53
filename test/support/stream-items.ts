import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { MediaType, Schema } from './contract.ts'
import { readEvents } from './event-stream.ts'

export type ItemMediaType = Omit<MediaType, 'schema'> & { schema?: Schema; itemSchema?: Schema }

/** An event as parsers of event streams return it; one without a name is a `message`. */
export type StreamItem = { event: string; data: string }

/** The events of a whole stream, without comments. */
export function streamItems(text: string): StreamItem[] {
  return readEvents(text).flatMap(({ name = 'message', data }) =>
    data === undefined ? [] : [{ event: name, data }],
  )
}

/**
 * Checks items by an `itemSchema` of the document. As Schemathesis does, it reads a text with `contentMediaType:
 * application/json` as JSON and checks it by `contentSchema`, which validators of JSON Schema leave out.
 *
 * @example
 * const check = itemChecks(document)
 * expect(check(media.itemSchema!, { event: 'message', data: '{}' })).to.deep.equal([])
 */
export function itemChecks(document: object): (schema: Schema, item: StreamItem) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.removeKeyword('contentMediaType')
  ajv.addKeyword({
    keyword: 'contentMediaType',
    type: 'string',
    compile: (_type: string, parent: object) => {
      const { contentSchema } = parent as { contentSchema: Schema }
      return (data: string) => {
        const value = parsed(data)
        return value !== undefined && check(contentSchema, value).length === 0
      }
    },
  })
  ajv.addSchema(document, 'contract')
  const known = new Map<string, ValidateFunction>()
  const check = (schema: Schema, value: unknown): string[] => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"contract#/')
    const validate = known.get(text) ?? ajv.compile(JSON.parse(text) as object)
    known.set(text, validate)
    if (validate(value)) return []
    return [`${JSON.stringify(value).slice(0, 500)}: ${ajv.errorsText(validate.errors)}`]
  }
  return check
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
