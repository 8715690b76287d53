import { gatewayCommand } from '../core/words/remedies.ts'

type Options = {
  baseUrl: string
  /** Set only at the first start, since keys are stored as hashes. */
  testKey: string | undefined
  /** How to create an owner; undefined if one exists. */
  setUp: string | undefined
  providerIds: readonly string[]
  /** Warnings about the settings. */
  doubts: readonly string[]
}

/** The text printed after the start: addresses, warnings and a command to paste. */
export function welcome({ baseUrl, testKey, setUp, ...rest }: Options): string {
  const { providerIds, doubts } = rest
  const providers =
    providerIds.length > 0
      ? `Providers: ${providerIds.join(', ')}`
      : 'Providers: none, so live keys cannot be used yet. Test keys use the sandbox.'
  return `
Model-Access Gateway is listening on ${baseUrl}
API reference: ${baseUrl}/docs
${[providers, ...doubts].join('\n')}

${testKey === undefined ? laterStart(baseUrl) : firstStart(baseUrl, testKey)}
${setUp === undefined ? '' : `\nThere is no owner yet. ${setUp}`}`
}

function laterStart(baseUrl: string): string {
  return `The dashboard is at ${baseUrl}/dashboard. Keys that you have created still work.
To create another: ${gatewayCommand} keys create --mode test --name mine`
}

function firstStart(baseUrl: string, testKey: string): string {
  const body = '{"prompt":"A lighthouse in a storm","size":"1024x1024","output_format":"png"}'
  return `Your test key, shown only once: ${testKey}

Paste this command to make your first picture, picture.png:

curl -s ${baseUrl}/v1/images/generations -H "Authorization: Bearer ${testKey}" -H "Content-Type: application/json" -d '${body}' | sed 's/.*"b64_json":"\\([^"]*\\)".*/\\1/' | base64 -d > picture.png
`
}
