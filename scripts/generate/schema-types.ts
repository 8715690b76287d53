import openapiTS, { astToString } from 'openapi-typescript'
import { banner, type Schema } from './document.ts'

/** TypeScript types of schemas outside the contract, as `components['schemas']`. */
export async function schemaTypes(schemas: Record<string, Schema>): Promise<string> {
  const info = { title: 'Schemas', version: '1' }
  const document = { openapi: '3.1.1', info, paths: {}, components: { schemas } }
  // The cast is needed, as openapi-typescript's input type does not accept plain JSON Schema.
  return banner + astToString(await openapiTS(document as never))
}
