import type { PublicHost } from './public-host.ts'

/** Serves an incoming webhook of Slack, which refuses what Slack refuses, with its words. */
export function serveSlack(host: PublicHost, path: string): void {
  host.serve(path, (response) => {
    const { body, headers } = host.requests.at(-1)!
    const say = (status: number, words: string) => void response.writeHead(status).end(words)
    if (headers['content-type'] !== 'application/json') return say(400, 'invalid_payload')
    const { text, blocks = [], ...unknown } = JSON.parse(body) as Record<string, unknown>
    const isText = typeof text === 'string' && text !== '' && text.length <= 40_000
    if (!isText || Object.keys(unknown).length > 0) return say(400, 'invalid_payload')
    const areValid = (blocks as Record<string, unknown>[]).every(isSection)
    return say(areValid ? 200 : 400, areValid ? 'ok' : 'invalid_blocks')
  })
}

function isSection({ type, text, ...more }: Record<string, unknown>): boolean {
  const { type: form, text: shown = '', ...rest } = text as { type: string; text?: string }
  const isShown = shown.length > 0 && shown.length <= 3000
  const isKnown = type === 'section' && ['mrkdwn', 'plain_text'].includes(form)
  return isKnown && isShown && Object.keys({ ...more, ...rest }).length === 0
}
