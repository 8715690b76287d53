import { useState } from 'preact/hooks'
import type { Schemas } from '../../data/api.ts'
import { addressOf } from '../../data/place.ts'
import { Snippet } from '../../elements/copy.tsx'
import { snippetsFor } from './snippets.ts'

/** A key that was just made or rotated: the only time that its secret is shown. */
export function Created({ created }: { created: Schemas['CreatedApiKey'] }) {
  const snippets = snippetsFor({ key: created.key, origin: location.origin })
  const [shown, setShown] = useState(snippets[0]!.name)
  const snippet = snippets.find(({ name }) => name === shown)!
  return (
    <>
      <div class="head">
        <h1>{created.name}</h1>
        <a href={addressOf(`/keys/${created.id}`)}>About this key</a>
      </div>
      <section class="card">
        <h2>Your key</h2>
        <p>Copy it now: it is shown this once, and nobody can tell it again.</p>
        <Snippet text={created.key} what="the key" />
      </section>
      <section class="card">
        <h2>Use it</h2>
        <div class="row tabs" role="group" aria-label="Ways to use it">
          {snippets.map(({ name }) => (
            <button
              key={name}
              type="button"
              class="plain small"
              aria-pressed={name === shown}
              onClick={() => setShown(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <Snippet text={snippet.text} what={snippet.name} />
      </section>
    </>
  )
}
