import { useEffect, useRef } from 'preact/hooks'
import type { Schemas } from '../../data/api.ts'
import { askForAddress } from '../../data/address.ts'
import { anyModel } from '../../data/curl.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { programSnippets, toolSnippets } from '../../data/snippets.ts'
import { useTitle } from '../../data/title.ts'
import { Snippet } from '../../elements/copy.tsx'
import { Snippets } from '../../elements/snippets.tsx'

/** A key that was created or rotated just now; its secret is shown only here. */
export function Created({ created }: { created: Schemas['CreatedApiKey'] }) {
  const { key, models, scopes } = created
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  useTitle(created.name)
  const address = useLoad('address', askForAddress)
  // Until the gateway's own address is loaded, the address of this page works as well.
  const { origin, tools } = address.data ?? {
    origin: location.origin,
    tools: `${location.origin}/mcp`,
  }
  const mayCall = scopes.includes('inference') || scopes.includes('admin')
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1} ref={heading}>
          {created.name}
        </h1>
        <a href={addressOf(`/keys/${created.id}`)}>About this key</a>
      </div>
      <section class="card">
        <h2>Your key</h2>
        <p>Copy it now. It is shown only once.</p>
        <Snippet text={key} what="the key" />
      </section>
      {mayCall && (
        <>
          <section class="card">
            <h2>Call a model</h2>
            <Snippets
              title="Ways to call a model"
              ways={programSnippets({ key, origin, model: models?.[0] ?? anyModel })}
            />
          </section>
          <section class="card">
            <h2>Connect an agent with this key</h2>
            <Snippets title="MCP clients" ways={toolSnippets({ key, tools })} />
            <p class="hint">
              <a href={addressOf('/connect')}>Connect</a> explains where to put each of these, and
              how clients connect without a key.
            </p>
          </section>
        </>
      )}
    </>
  )
}
