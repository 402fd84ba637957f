"""Operations and models, generated from the OpenAPI document."""
