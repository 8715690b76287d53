import type { Problem, Warning } from '../../core/model.ts'

/** What a vendor's format cannot express. */
export type Notes = { problems: Problem[]; warnings: Warning[] }
/** A request in a vendor's format. */
export type WrittenChat<Body> = Notes & { body: Body }

/** An instruction to answer in JSON, for models that cannot enforce it. */
export function jsonInWords(schema: object | undefined): string {
  if (schema === undefined) {
    return 'Answer with one JSON object and nothing else, without a code fence around it.'
  }
  const text = JSON.stringify(schema)
  return `Answer with one JSON value and nothing else, without a code fence around it. It is valid against this JSON Schema: ${text}`
}
