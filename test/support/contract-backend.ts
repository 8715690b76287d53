import { createRequire } from 'node:module'
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js'
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

/**
 * Makes Ajv compile each schema when it is first used, and equal schemas once. The library compiles the
 * schemas of all statuses of an operation, four times for its headers, and most operations have the same errors.
 */
function late(ajv: Ajv2020): Ajv2020 {
  const compile = ajv.compile.bind(ajv)
  const compiled = new Map<string, ValidateFunction>()
  const compileOnce = (schema: AnySchema) => {
    const text = JSON.stringify(schema)
    const validate = compiled.get(text) ?? compile(schema)
    compiled.set(text, validate)
    return validate
  }
  ajv.compile = ((schema: AnySchema) => {
    let validate: ValidateFunction | undefined
    const lateValidate: Pick<ValidateFunction, 'errors'> & ((data: unknown) => boolean) = (
      data,
    ) => {
      validate ??= compileOnce(schema)
      const isValid = validate(data)
      lateValidate.errors = validate.errors ?? null
      return isValid
    }
    return lateValidate
  }) as typeof ajv.compile
  return ajv
}

const options = {
  strict: false,
  validateSchema: false,
  allErrors: true,
  validateFormats: false,
} as const
const ofBodies = late(new Ajv2020(options))
// Numeric headers arrive as text.
const ofHeaders = late(new Ajv2020({ ...options, coerceTypes: true }))

const backend = await new Backend({
  definition: structuredClone(contract) as unknown as Document,
  quick: true,
  customizeAjv: (_ajv, _options, context) =>
    context === ValidationContext.ResponseHeaders ? ofHeaders : ofBodies,
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
