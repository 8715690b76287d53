import { useEffect, useRef } from 'preact/hooks'
import type { Schemas } from '../../data/api.ts'
import { useTitle } from '../../data/title.ts'
import { Snippet } from '../../elements/copy.tsx'

const verification = `import OpenAI from 'openai'

const client = new OpenAI()

export async function handle(request: Request): Promise<Response> {
  const { WEBHOOK_SECRET: secret } = process.env
  const event = await client.webhooks.unwrap(await request.text(), request.headers, secret)
  console.log(event.type, event.data.id)
  return new Response(null, { status: 204 })
}`

type Props = { created: Schemas['CreatedWebhook']; onDone: () => void }

/** A webhook that was created, or whose secret was rotated just now; the secret is shown only here. */
export function Secret({ created, onDone }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  useTitle(created.name)
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1} ref={heading}>
          {created.name}
        </h1>
        <button type="button" class="plain" onClick={onDone}>
          About this webhook
        </button>
      </div>
      <section class="card">
        <h2>Its secret</h2>
        <p>Copy it now. It is shown only once.</p>
        <Snippet text={created.secret} what="the secret" />
        {created.previous_secret_until !== null && (
          <p class="hint">For 24 hours each request is also signed with the previous secret.</p>
        )}
      </section>
      <section class="card">
        <h2>Verify a request</h2>
        <p>
          With OpenAI's client, or any library of Standard Webhooks. Pass the body as it was
          received.
        </p>
        <Snippet text={verification} what="a program that verifies a request" />
      </section>
    </>
  )
}
