import { createRequire } from 'node:module'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type * as OpenApiBackend from 'openapi-backend'
import type { Document } from 'openapi-backend'
import { contract } from './contract.ts'

// Uses require() as the gateway does: during an import(), the gateway would get the half-loaded module.
const { OpenAPIBackend, SetMatchType, ValidationContext } = createRequire(import.meta.url)(
  'openapi-backend',
) as typeof OpenApiBackend

type Answer = { status: number; headers: Headers; text: string }

/** The definition is not validated, since the library knows only OpenAPI 3.0; the linter checks the document. */
class Backend extends OpenAPIBackend {
  override validateDefinition(): Document {
    return this.document
  }
}

const backend = await new Backend({
  definition: structuredClone(contract) as unknown as Document,
  quick: true,
  customizeAjv: (_ajv, _options, context) =>
    new Ajv2020({
      strict: false,
      validateSchema: false,
      allErrors: true,
      formats: { binary: true, 'date-time': true, password: true },
      // Numeric headers arrive as text.
      coerceTypes: context === ValidationContext.ResponseHeaders,
    }),
}).init()

/** Violations of the contract that openapi-backend, an independent validator, finds in an answer. */
export function backendComplaints(id: string, { status, headers, text }: Answer): string[] {
  const type = headers.get('content-type') ?? ''
  const isJson = type.startsWith('application/json')
  const { validator } = backend
  const body = isJson ? validator.validateResponse(JSON.parse(text), id, status).errors : []
  const named = Object.fromEntries(headers)
  const options = { statusCode: status, setMatchType: SetMatchType.Any }
  const head = validator.validateResponseHeaders(named, id, options).errors
  return [...(body ?? []), ...(head ?? [])].map(
    ({ instancePath, message }) => `openapi-backend: ${instancePath} ${message}`,
  )
}
