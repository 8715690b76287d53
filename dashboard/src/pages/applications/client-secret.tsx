import { useEffect, useRef } from 'preact/hooks'
import { askForAddress } from '../../data/address.ts'
import type { Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { Snippet } from '../../elements/copy.tsx'

type Props = { created: Schemas['CreatedApiKey']; onDone: () => void }

/** A service that was created or rotated just now; its secret is shown only here. */
export function ServiceSecret({ created, onDone }: Props) {
  const { client_id: id = '', client_secret: secret = '' } = created
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const address = useLoad('address', askForAddress)
  const origin = address.data?.origin ?? location.origin
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1} ref={heading}>
          {created.name}
        </h1>
        <button type="button" class="plain" onClick={onDone}>
          All applications
        </button>
      </div>
      <section class="card">
        <h2>Client id</h2>
        <Snippet text={id} what="the client id" />
      </section>
      <section class="card">
        <h2>Client secret</h2>
        <p>Copy it now. It is shown only once.</p>
        <Snippet text={secret} what="the client secret" />
      </section>
      <section class="card">
        <h2>Get a token</h2>
        <p>The token works for one hour. Send it in place of an API key.</p>
        <Snippet
          text={`curl ${origin}/oauth/token \\
  -u "${id}:${secret}" \\
  -d grant_type=client_credentials`}
          what="a request for a token"
        />
      </section>
    </>
  )
}
