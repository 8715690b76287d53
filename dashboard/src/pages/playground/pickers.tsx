import { place, setQuery } from '../../data/place.ts'
import { Field } from '../../elements/field.tsx'
import { goodFirst, modelsMax, type Model } from './models.ts'

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
        {chosen.map(({ id }, index) => (
          <Field key={index} label={chosen.length === 1 ? 'Model' : `Model ${index + 1}`}>
            {(attributes) => (
              <div class="row picker">
                <select
                  {...attributes}
                  onChange={({ currentTarget: { value } }) =>
                    choose(ids.map((one, at) => (at === index ? value : one)))
                  }
                >
                  {models.map((one) => (
                    <option key={one.id} value={one.id} selected={one.id === id}>
                      {one.id}
                      {one.status === 'deprecated' ? ' (deprecated)' : ''}
                    </option>
                  ))}
                </select>
                {chosen.length > 1 && (
                  <button
                    type="button"
                    class="plain small"
                    aria-label={`Remove ${id}`}
                    onClick={() => choose(ids.filter((one) => one !== id))}
                  >
                    Remove
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
