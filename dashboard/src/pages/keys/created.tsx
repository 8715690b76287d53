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

/** A key that was just made or rotated: the only time that its secret is shown. */
export function Created({ created }: { created: Schemas['CreatedApiKey'] }) {
  const { key, models, scopes } = created
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  useTitle(created.name)
  const address = useLoad('address', askForAddress)
  // The address of this page works too, until the gateway's own is known.
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
        <p>Copy it now: it is shown only this once.</p>
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
            <h2>Give its tools to an agent</h2>
            <Snippets title="Clients of the tool server" ways={toolSnippets({ key, tools })} />
            <p class="hint">
              <a href={addressOf('/connect')}>Connect</a> tells where each of these goes, and how
              clients connect without a key.
            </p>
          </section>
        </>
      )}
    </>
  )
}
