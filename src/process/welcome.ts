type Options = {
  baseUrl: string
  /** Known only at the first start, since keys are stored as hashes. */
  testKey: string | undefined
  /** How to make an owner, until there is one. */
  setUp: string | undefined
  providerIds: readonly string[]
  /** What is probably wrong with the settings. */
  doubts: readonly string[]
}

/** The text printed when the server has started: its addresses, and a command to paste. */
export function welcome({ baseUrl, testKey, setUp, ...rest }: Options): string {
  const { providerIds, doubts } = rest
  const providers =
    providerIds.length > 0
      ? `Providers: ${providerIds.join(', ')}`
      : 'Providers: none yet, so live keys have nowhere to go. Test keys reach the sandbox.'
  return `
Model-Access Gateway is listening on ${baseUrl}
API reference: ${baseUrl}/docs
${[providers, ...doubts].join('\n')}

${testKey === undefined ? laterStart : firstStart(baseUrl, testKey)}
${setUp === undefined ? '' : `\nNobody can sign in yet. ${setUp}`}`
}

const laterStart = 'A new key: npm run -s gateway -- keys create --mode test --name mine'

function firstStart(baseUrl: string, testKey: string): string {
  const body = '{"prompt":"A lighthouse in a storm","size":"1024x1024","output_format":"png"}'
  return `Your test key, shown this once: ${testKey}

Paste this for your first picture, picture.png:

curl -s ${baseUrl}/v1/images/generations -H "Authorization: Bearer ${testKey}" -H "Content-Type: application/json" -d '${body}' | sed 's/.*"b64_json":"\\([^"]*\\)".*/\\1/' | base64 -d > picture.png
`
}
