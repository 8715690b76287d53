import openapiTS, { astToString } from 'openapi-typescript'
import { banner, type Schema } from './document.ts'

/** Types of schemas that stand outside of the document: made its components, for one generator. */
export async function schemaTypes(schemas: Record<string, Schema>): Promise<string> {
  const info = { title: 'Schemas', version: '1' }
  const document = { openapi: '3.1.1', info, paths: {}, components: { schemas } }
  return banner + astToString(await openapiTS(document as never))
}
