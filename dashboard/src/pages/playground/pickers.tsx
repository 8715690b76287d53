import { useSignal } from '@preact/signals'
import { place, setQuery } from '../../data/place.ts'
import { Dialog } from '../../elements/dialog.tsx'
import { Field, type FieldAttributes } from '../../elements/field.tsx'
import { Icon } from '../../elements/icon.tsx'
import { SearchList } from '../../elements/search-list.tsx'
import { VendorMark } from '../../elements/vendor-mark.tsx'
import { abilitiesText, goodFirst, modelsMax, priceText, type Model } from './models.ts'

/** The available models named in the address; otherwise the default model. */
export function chosenOf(models: readonly Model[], parameter: string): readonly Model[] {
  const { query } = place.value
  const named = (query.get(parameter) ?? query.get('model') ?? '').split(',')
  const found = named.flatMap((id) => models.find((one) => one.id === id) ?? [])
  const first = goodFirst(models)
  return found.length > 0 || first === undefined ? [...new Set(found)].slice(0, modelsMax) : [first]
}

type Props = {
  models: readonly Model[]
  chosen: readonly Model[]
  parameter: string
  /** Requested features that a model does not support. */
  lacksOf: (model: Model) => readonly string[]
}

/** Chooses up to three models; the address keeps the choice. */
export function Pickers({ models, chosen, parameter, lacksOf }: Props) {
  const choose = (ids: readonly string[]) =>
    setQuery({ [parameter]: [...new Set(ids)].join(',') || undefined })
  const ids = chosen.map(({ id }) => id)
  const others = models.filter(({ id, status }) => !ids.includes(id) && status === 'active')
  const able = others.filter((model) => lacksOf(model).length === 0)
  const next = goodFirst(able.length === 0 ? others : able)
  return (
    <>
      <div class="pickers">
        {chosen.map((model, index) => (
          <Field
            key={index}
            label={chosen.length === 1 ? 'Model' : `Model ${index + 1}`}
            hint={`${priceText(model)} · ${abilitiesText(model)}`}
          >
            {(attributes) => (
              <div class="row picker">
                <ModelChoice
                  {...{ attributes, models, model }}
                  label={chosen.length === 1 ? 'Model' : `Model ${index + 1}`}
                  opens={index === 0 && place.value.query.has('choose')}
                  onChoose={(value) => choose(ids.map((one, at) => (at === index ? value : one)))}
                />
                {chosen.length > 1 && (
                  <button
                    type="button"
                    class="plain small"
                    aria-label={`Remove ${model.id}`}
                    onClick={() => choose(ids.filter((one) => one !== model.id))}
                  >
                    <Icon name="close" />
                  </button>
                )}
              </div>
            )}
          </Field>
        ))}
        {chosen.length < modelsMax && next !== undefined && (
          <button type="button" class="plain small" onClick={() => choose([...ids, next.id])}>
            Compare with another model
          </button>
        )}
      </div>
      <Lacks chosen={chosen} lacksOf={lacksOf} />
    </>
  )
}

type ModelChoiceProps = Pick<Props, 'models'> & {
  attributes: FieldAttributes
  label: string
  /** The chosen model. */
  model: Model
  /** Whether the search is open from the start. */
  opens: boolean
  onChoose: (id: string) => void
}

/** A button with the chosen model, which opens a search over all models. */
function ModelChoice({ attributes, models, label, model, opens, onChoose }: ModelChoiceProps) {
  const isOpen = useSignal(opens)
  const close = () => {
    isOpen.value = false
    if (opens) setQuery({ choose: undefined })
  }
  return (
    <>
      <button
        type="button"
        {...attributes}
        class="plain model-choice"
        aria-label={`${label}: ${model.id}`}
        aria-haspopup="dialog"
        onClick={() => (isOpen.value = true)}
      >
        <VendorMark id={model.owned_by} />
        <span>{model.id}</span>
        <Icon name="search" />
      </button>
      {isOpen.value && (
        <Dialog title="Choose a model" onClose={close}>
          <p class="hint above model-search">
            Prices are per million tokens, unless it says per picture.
          </p>
          <SearchList
            label="Models"
            placeholder="A name, provider or ability, such as “openai reasoning”"
            options={models.map((one) => ({
              id: one.id,
              text: one.id,
              hint: priceText(one),
              mark: <VendorMark id={one.owned_by} />,
              detail: `${one.owned_by}${one.status === 'deprecated' ? ' · deprecated' : ''} · ${abilitiesText(one)}`,
            }))}
            chosen={model.id}
            onPick={(option) => {
              close()
              onChoose(option.id)
            }}
          />
        </Dialog>
      )}
    </>
  )
}

/** Names the requested features that are left out, because one of the models does not support them. */
function Lacks({ chosen, lacksOf }: Pick<Props, 'chosen' | 'lacksOf'>) {
  return (
    <>
      {chosen
        .filter((model) => lacksOf(model).length > 0)
        .map((model) => (
          <p key={model.id} class="fault" role="status">
            {model.id} cannot {lacksOf(model).join(', ')}. The request omits this
            {chosen.length > 1 && ' for all chosen models'}.
          </p>
        ))}
    </>
  )
}
