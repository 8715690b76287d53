import { dayMs } from '../usage/range.ts'
import type { Message } from './messages.ts'

type Mail = Message & { to: string; id: string; accountId: string }
/** The limits of one attempt. */
export type SentBounds = { timeoutMs: number; signal: AbortSignal }
/** The status of the answer of HTTP or SMTP, or a sentence without secrets on why there is none. */
export type Sent = { status: number } | { error: string }
/** Sends a mail. Never rejects. */
export type SendMail = (mail: Mail, bounds: SentBounds) => Promise<Sent>

/** Anyone may enter a mailbox that is not theirs: mails of an account in a UTC day from this process. */
const perDayMax = 100

/** Sends mails through the operator's server (docs/settings.md); it may have a private address. */
export function createSendMail(url: string, from: string, clock: () => number): SendMail {
  let day = 0
  let sent = new Map<string, number>()
  return async ({ to, id, accountId, title, text, link }, { timeoutMs, signal }) => {
    const today = Math.floor(clock() / dayMs)
    if (today !== day) [day, sent] = [today, new Map()]
    const count = sent.get(accountId) ?? 0
    if (count >= perDayMax)
      return { error: `The account has sent ${perDayMax} mails today, which is the most.` }
    sent.set(accountId, count + 1)
    // Most gateways send no mail.
    const { createTransport } = await import('nodemailer')
    const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const { promise, reject } = Promise.withResolvers<never>()
    ends.addEventListener('abort', () => reject(new Error('ended')))
    // Unless the race below waits for it.
    promise.catch(() => undefined)
    let transport: ReturnType<typeof createTransport> | undefined
    try {
      ends.throwIfAborted()
      transport = createTransport(smtpOptions(url, timeoutMs))
      const domain = from.slice(from.indexOf('@'))
      await Promise.race([
        promise,
        transport.sendMail({
          from,
          to,
          subject: title,
          text: `${text}\n\n${link}\n`,
          // A mail that is sent again has the same id, and mailboxes show it once.
          messageId: `<${id}${domain}>`,
          headers: { 'auto-submitted': 'auto-generated' },
          disableFileAccess: true,
          disableUrlAccess: true,
        }),
      ])
      return { status: 250 }
    } catch (error) {
      if (ends.aborted)
        return { error: `The mail server did not answer within ${timeoutMs / 1000} seconds.` }
      return { error: failureText(error) }
    } finally {
      transport?.close()
    }
  }
}

function smtpOptions(url: string, timeoutMs: number) {
  const { protocol, hostname, port, username, password } = new URL(url)
  const [user, pass] = [username, password].map(decodeURIComponent)
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    // A password is not sent over a connection without TLS.
    ...(username !== '' && { auth: { user, pass }, requireTLS: true }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  }
}

/** The server's own words may repeat the password or the address. */
function failureText(error: unknown): string {
  const { responseCode, code } = error as { responseCode?: number; code?: string }
  const reason = [responseCode, code].filter((one) => one !== undefined).join(', ')
  const what = responseCode === undefined ? 'cannot be reached' : 'refused the mail'
  return `The mail server ${what}${reason === '' ? '' : ` (${reason})`}.`
}
