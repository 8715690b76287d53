import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export type ReceivedMail = { from: string; to: string[]; source: string }

/** A mail server on this machine that keeps what it receives. */
export type Mailbox = {
  url: string
  mails: ReceivedMail[]
  /** The answer to the next recipients, instead of 250. */
  refuse(status: number | undefined): void
  stop(): Promise<void>
}

/**
 * Starts a mail server without TLS, which offers a sign-in.
 *
 * @example
 * const mailbox = await startMailbox()
 * const variables = { SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@gateway.example' }
 * await using gateway = await startGateway({ variables })
 */
export async function startMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = []
  let status: number | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onRcptTo: (_address, _session, callback) => {
      if (status === undefined) return callback()
      callback(Object.assign(new Error('no such user: secret words'), { responseCode: status }))
    },
    onData: (stream, { envelope: { mailFrom, rcptTo } }, callback) => {
      const keep = async () => {
        const from = mailFrom === false ? '' : mailFrom.address
        const to = rcptTo.map(({ address }) => address)
        mails.push({ from, to, source: await text(stream) })
        callback()
      }
      void keep()
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuse: (next) => void (status = next),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
