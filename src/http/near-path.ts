import { operations } from '../../generated/operations.ts'
import { nearName } from '../core/words/near-name.ts'

const paths: readonly string[] = [...new Set(operations.map(({ path }) => path))].filter(
  (path) => !path.includes('{'),
)
const version = '/v1'

/** Paths of other APIs that clients try, and the path to use instead. */
const others: readonly [RegExp, string][] = [
  [
    /^(?:\/(?:v\d|api|docs|\.well-known))?\/(?:openapi|swagger|api-docs|apidocs|redoc|schema)(?:[-./][\w./-]*)?$/i,
    'The contract is at /openapi.json, /openapi.yaml and /openapi-3.2.json, its reference at /docs.',
  ],
  [
    /\/openai\/deployments\//,
    `This is a path of Azure. End the base URL with ${version}, and send the model as 'model'.`,
  ],
  [
    /:(?:stream)?generateContent$/i,
    'This API is not served. Use /v1/chat/completions, also for Gemini.',
  ],
  [/\/api\/(?:chat|generate)$/, 'This API is not served. Use /v1/chat/completions.'],
  [
    /:(?:batch)?embedContents?$|\/api\/embed(?:dings)?$/i,
    'This API is not served. Use /v1/embeddings.',
  ],
  [/\/images$/, 'Use /v1/images/generations, or /v1/images/edits to change a picture.'],
  [/\/images\/variations$/, 'Use /v1/images/edits, and describe the variation in the prompt.'],
  [
    /\/(?:audio\/\w+|files|batches|fine_tuning\/\w+|assistants|threads|realtime|videos)(?:\/|$)/,
    'The gateway serves only chat, images, embeddings and moderations.',
  ],
  [/^\/v1$/, 'This is only the base URL. Append a path, for example /v1/chat/completions.'],
  [/^\/(?:sse|mcp\/\w+)$/, 'The tool server is only at /mcp (Streamable HTTP).'],
]

/** A hint for an unknown path; undefined if the intent is unclear. */
export function pathMeant(path: string): string | undefined {
  const known = others.find(([pattern]) => pattern.test(path))
  if (known !== undefined) return known[1]
  const end = path.replace(/^.*\/v1(?=\/|$)/, '') || '/'
  const meant = paths.find((one) => one.startsWith(version) && one === version + end)
  if (meant !== undefined) {
    return `Use ${meant}: the base URL must end with ${version} once.`
  }
  if (end === '/') return undefined
  const near = end === '/completions' ? '/v1/chat/completions' : nearestPath(path, version + end)
  return near === undefined ? undefined : `Did you mean ${near}?`
}

function nearestPath(...written: string[]): string | undefined {
  return written.map((path) => nearName(path, paths)).find((path) => path !== undefined)
}
