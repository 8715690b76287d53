/** `npm run careless`: prints the answers to careless requests, for review by a person. */
import { startGateway } from '../support/gateway.ts'
import { ask, readRequests, type CarelessAnswer } from './requests.ts'

const gateway = await startGateway()
let about = ''
for (const request of readRequests()) {
  if (request.about !== about) {
    about = request.about
    const { method, path } = request
    console.log(
      `\n## ${about}\n\n\`${method} ${path}\`\n\n| Request | Answer | Sentence |\n|---|---|---|`,
    )
  }
  const { name, raw, change, headers, path } = request
  const sent = raw ?? (change === undefined ? (request.body ?? headers ?? path) : change)
  const answer = await ask(gateway, request)
  console.log(`| ${name}: \`${cell(sent)}\` | ${codes(answer)} | ${cell(sentence(answer))} |`)
}
await gateway.stop()

function codes({ status, code, param }: CarelessAnswer): string {
  return [status, code, param].filter((part) => part !== undefined).join(' ')
}

function sentence({ says, warns }: CarelessAnswer): string {
  return says ?? (warns === undefined ? 'accepted' : `accepted; ${warns.join(' ')}`)
}

function cell(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll('\n', '⏎').replaceAll('|', '\\|').slice(0, 240)
}
