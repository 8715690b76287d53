import { useEffect, useRef } from 'preact/hooks'
import { askForAddress } from '../../data/address.ts'
import type { Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { Snippet } from '../../elements/copy.tsx'

type Props = { created: Schemas['CreatedApiKey']; onDone: () => void }

/** A service that was just made or got another secret: the only time that it is shown. */
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
        <h2>Its id and secret</h2>
        <p>Copy the secret now: it is shown only this once.</p>
        <h3>Client id</h3>
        <Snippet text={id} what="the client id" />
        <h3>Client secret</h3>
        <Snippet text={secret} what="the client secret" />
      </section>
      <section class="card">
        <h2>Get a token</h2>
        <p>It holds for one hour, and is sent as a key is.</p>
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
