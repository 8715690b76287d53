import { useRef, useState } from 'preact/hooks'
import { bodyOf, GET } from '../data/api.ts'
import { useLoad } from '../data/load.ts'
import { accountQuery } from '../data/session.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Icon } from './icon.tsx'
import { SearchList, type Option } from './search-list.tsx'
import { WhenLoaded } from './when-loaded.tsx'

type Props = {
  models: readonly string[]
  /** What an empty list means. */
  none?: string
  fault: string | undefined
}

/** The models that a key may call, chosen by search; the form sends each as `models`. */
export function ModelsField({ models, none = 'The key may call all models.', fault }: Props) {
  const [chosen, setChosen] = useState(models)
  const [isOpen, setOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const toggle = (id: string) =>
    setChosen((ids) => (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]))
  return (
    <Field label="Models" hint={chosen.length === 0 ? none : undefined} fault={fault}>
      {({ id, 'aria-describedby': descriptions }) => (
        <>
          {chosen.length > 0 && (
            <ul class="chosen-models" aria-label="Chosen models">
              {chosen.map((id) => (
                <li key={id}>
                  <input type="hidden" name="models" value={id} />
                  {id}
                  <button
                    type="button"
                    class="plain"
                    aria-label={`Remove ${id}`}
                    onClick={() => {
                      toggle(id)
                      opener.current?.focus()
                    }}
                  >
                    <Icon name="close" />
                  </button>
                </li>
              ))}
            </ul>
          )}
          <button
            id={id}
            aria-describedby={descriptions}
            ref={opener}
            type="button"
            class="plain"
            aria-label="Choose models"
            aria-haspopup="dialog"
            onClick={() => setOpen(true)}
          >
            <Icon name="search" />
            Choose models…
          </button>
          {isOpen && (
            <Dialog title="Models of the key" onClose={() => setOpen(false)}>
              <Search chosen={chosen} onPick={toggle} />
              <div class="row chosen-count">
                <span class="quiet" role="status">
                  {chosen.length === 0 ? 'All models' : `${chosen.length} chosen`}
                </span>
                <button type="button" onClick={() => setOpen(false)}>
                  Done
                </button>
              </div>
            </Dialog>
          )}
        </>
      )}
    </Field>
  )
}

type SearchProps = { chosen: readonly string[]; onPick: (id: string) => void }

/** A search over the models by any of their names. */
function Search({ chosen, onPick }: SearchProps) {
  const [text, setText] = useState('')
  const catalog = useLoad('models of keys', (signal) =>
    bodyOf(GET('/api/models', { params: { query: accountQuery() }, signal })),
  )
  return (
    <WhenLoaded loaded={catalog} what="Loading the models">
      {({ data }) => {
        const listed = data
          .filter(({ model }) => model.status !== 'deactivated')
          .toSorted((one, other) => Number(other.is_usable) - Number(one.is_usable))
        const options = listed.map(({ model, is_usable: isUsable }): Option => {
          const state = isUsable ? model.name : 'not configured'
          return {
            id: model.id,
            text: model.id,
            hint: chosen.includes(model.id) ? '✓ chosen' : state,
            words: [model.name, ...(model.aliases ?? [])].join(' '),
          }
        })
        // The gateway knows more names: snapshots, prefixes and models outside the catalog.
        const isName = /^\S+$/.test(text)
        const isListed = options.some(({ id, words }) =>
          `${id} ${words}`.toLowerCase().includes(text.toLowerCase()),
        )
        const other = { id: text, text: `Add “${text}”`, hint: 'checked when saved' }
        return (
          <SearchList
            label="Models"
            placeholder="Any name of a model"
            options={isName && !isListed ? [...options, other] : options}
            onText={setText}
            onPick={({ id }) => onPick(id)}
          />
        )
      }}
    </WhenLoaded>
  )
}
